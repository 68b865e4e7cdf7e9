// Package client is a worker's side of the parameter servers: it joins the job, cuts every step by the layout into one
// request for each server, sends them together and puts the answers where they belong.
//
// A worker's life:
//
//	client.go     join, publish or pull the first weights, leave
//	await.go      waiting for servers that start later
//	heartbeat.go  showing life, and noticing that a server has none
//	gather.go     barriers and reductions
//	turn.go       what a worker in lockstep does one at a time
//	frozen.go     values that no rule changes: this worker's, and those of a checkpoint
//	save.go       checkpoints, and rows for an inference model
//	shrink.go     the end of a day
//
// A request:
//
//	call.go       one request to one server, repeated while that is safe
//	steps.go      its number, which a server counts once
//	counts.go     what became of pushes
//	expect.go     what a step is expected to exchange, before there is one
//
// A step's traffic:
//
//	exchange.go   requests to all servers and their answers
//	rows.go       the rows of a batch, and every server's share of them
//	pieces.go     what is too large for one frame
//	feedback.go   narrow payloads; what they round away is added to the next push
//	owed.go       that, by row
//
// Gradients made ready:
//
//	check.go      steps that are not those of the model
//	finite.go     gradients that are not finite
//	clip.go       gradients shortened by their lengths, where a push is an update
//	merge.go      gradients made one
//
// Sessions, each a training thread's:
//
//	open.go         what kind one is shows at its first step
//	sync.go         in rounds
//	async.go        pushes that go beside training, as mode.SendQueue says
//	pulling.go      the rows that it asks for, now or ahead
//	sender.go       its goroutines, which send gradients and bring weights
//	halfasync.go    threads that meet
//	geo.go          a copy of the model, trained here
//	geoexchange.go  what it exchanges every k steps
//
// Every request may be repeated: a push carries a number that the server counts once, everything else has the same effect
// twice. So a lost answer costs time and nothing else.
package client
