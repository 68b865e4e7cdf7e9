// Package client is a worker's side of the parameter servers: it joins the job, lives in it, and trains in sessions, whose traffic
// goes by package exchange.
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
