// Package client is a worker's side of the parameter servers. It joins the job, sends heartbeats, and trains in
// sessions, whose requests package exchange makes.
//
//	client.go     join, the first weights, leave
//	origin.go     servers that began from different directories
//	link.go       the connection to servers
//	await.go      waiting for servers that start later
//	heartbeat.go  heartbeats to servers, and noticing that a server has ended
//	call.go       one request to one server, repeated while that is safe
//	alarm.go      timers that many requests share, one after the other
//	waits.go      log lines about requests that wait for long
//	meter.go      durations of requests, and bytes on each link
//	gather.go     barriers and reductions
//	led.go        what this worker does next in the job's epochs, as server 0 says
//	rate.go       a factor on learning rates
//	frozen.go     values of frozen params: to checkpoints, and from them
//
// Calls that act on all servers at one point between steps:
//
//	cuts.go       all servers held at the same steps
//	save.go       checkpoints, and a checkpoint with the end of a period
//	recovery.go   checkpoints that a job makes by itself, and resumes from
//	shrink.go     the end of a period
//	evict.go      room in tables that are nearly full
//	serve.go      models for serving
//	load.go       weights that are replaced during training
//	cut.go        reading the weights of a cut
//	scan.go       reading the rows of a table, page by page
//
// Every request may be repeated: a push carries a number that the server counts once, and every other request has the
// same effect if it comes twice. A lost answer costs time and nothing else.
package client
