// Package mode holds the ways of training: when a server applies what workers push, and what a worker may read. A mode
// is a file; the server's half and the worker's half stand together in it, as state machines without clock, lock,
// network or goroutine: messages in, decisions out. Packages server, session and replica feed them and do what they
// say.
//
//	sync   every worker's gradient of a round, folded into one update (sync.go)
//	async  every push is an update of its own; on a worker gradients queue, and may be merged while others travel (async.go)
//	half_async  the training threads of a worker meet; servers as in async (halfasync.go)
//	geo    workers train copies and exchange what has changed (geo.go)
//	ssp    as async, but no worker is more than so many steps ahead of the slowest (ssp.go)
//	local SGD  without servers: workers train copies, and set them to their mean from time to time (localsgd.go)
//
// What the rest of the house must know of a mode is in one table (traits.go).
//
// The halves talk in rounds. A [Round] has a phase, which ends when every worker has run out of batches, and an index
// within the phase. A push belongs to a round; a pull names the round whose predecessors it must reflect. Async answers
// at once.
//
// The worker's half of async is asked after every event what should go now, and told how it went:
//
//	at, turn := queue.Step()          // a step has ended: copy its gradient to place at, merge it there, or wait
//	queue.Filled(at, false)           // it is there
//	for send, ok := queue.Next(); ok; send, ok = queue.Next() {
//		go request(send)              // and then queue.Answered(send, err == nil)
//	}
//
// Each half is driven in tests by the scripts of testdata: *.txt for servers, and *.queue, *.meeting and *.script for
// workers.
//
// What is done to the gradients themselves is package gradient's.
package mode
