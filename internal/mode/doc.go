// Package mode holds the ways of training: when a server applies what workers push, and what a worker may read. Each
// mode has a file, with the server's half and the worker's half as state machines without clock, lock, network or
// goroutine: messages in, decisions out. Packages server, session and replica call the machines and carry out their
// decisions.
//
//	sync   every worker's gradient of a round, folded into one update (sync.go)
//	async  every push is an update of its own; on a worker gradients queue, and may be merged while others travel (async.go)
//	half_async  the training threads of a worker meet; servers as in async (halfasync.go)
//	geo    workers train copies and exchange what has changed (geo.go)
//	ssp    as async, but no worker is more than so many steps ahead of the slowest (ssp.go)
//	local SGD  without servers: workers train copies, and set them to their mean from time to time (localsgd.go)
//
// One table (traits.go) has what other packages need to know of a mode.
//
// Both halves count in rounds. A [Round] has a phase, which ends when every worker has run out of batches, and an index
// within the phase. A push belongs to a round. A pull names a round, and must reflect all rounds before it. Async has
// no rounds: a server answers at once.
//
// The caller of the worker's half of async asks it after every event what to send now, and reports the result:
//
//	at, turn := queue.Step()          // a step has ended: copy its gradient to place at, merge it there, or wait
//	queue.Filled(at, samples, false)  // it is there
//	for send, ok := queue.Next(); ok; send, ok = queue.Next() {
//		go request(send)              // and then queue.Answered(send, err == nil)
//	}
//
// Each half is driven in tests by the scripts of testdata: *.txt for servers, and *.queue, *.meeting and *.script for
// workers.
//
// Package gradient has the arithmetic on gradients.
package mode
