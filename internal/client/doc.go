// Package client is a worker's side of the parameter servers: it joins the job, lives in it, and trains in sessions,
// whose traffic goes by package exchange.
//
//	client.go     join, the first weights, leave
//	origin.go     servers that began from different directories
//	link.go       the connection to servers
//	await.go      waiting for servers that start later
//	heartbeat.go  showing life, and noticing that a server has none
//	call.go       one request to one server, repeated while that is safe
//	waits.go      saying what a request waits for
//	meter.go      what requests take and carry
//	gather.go     barriers and reductions
//	rate.go       a factor on learning rates
//	frozen.go     values that no rule changes: in checkpoints, and from them
//
// What works on all servers at one point between steps:
//
//	cuts.go       all servers held at the same steps
//	save.go       checkpoints, and a checkpoint with the end of a period
//	recovery.go   checkpoints that a job makes by itself, and goes on from
//	shrink.go     the end of a period
//	serve.go      models for serving
//	load.go       weights that are replaced while they are trained
//	cut.go        the weights of a cut, read
//	scan.go       rows of a table, page after page
//
// Every request may be repeated: a push carries a number that the server counts once, everything else has the same
// effect twice. So a lost answer costs time and nothing else.
package client
