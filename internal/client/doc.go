// Package client is a worker's side of the parameter servers: it joins the job, cuts every step by the layout into one
// request for each server, sends them together and puts the answers where they belong.
//
//	client.go     a worker's life: join, publish or pull the first weights, leave
//	await.go      waiting for servers that start later
//	call.go       one request to one server, repeated while that is safe
//	expect.go     what a step is expected to exchange, before there is one
//	exchange.go   one step's traffic with all servers
//	rows.go       the rows of a batch, and every server's share of them
//	clip.go       gradients shortened by their lengths, where a push is an update
//	feedback.go   what narrow payloads round away, added to the next push
//	open.go       sessions: what kind one is shows at its first step
//	sync.go       the session of synchronous training
//	async.go      the session of asynchronous training
//	pulling.go    the rows that it asks for, now or ahead
//	sender.go     its goroutines, which send gradients and bring weights
//	merge.go      gradients made one
//	halfasync.go  training threads that meet
//	geo.go        a copy of the model, trained here and exchanged
//	pieces.go     what is too large for one frame
//	finite.go     gradients that are not finite
//	counts.go     what became of pushes
//	heartbeat.go  showing life, and noticing that a server has none
//	gather.go     barriers and reductions
//	turn.go       what a worker in lockstep does one at a time
//	save.go       checkpoints, and rows for an inference model
//
// Every request may be repeated: a push carries a number that the server counts once, everything else has the same effect
// twice. So a lost answer costs time and nothing else.
package client
