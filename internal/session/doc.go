// Package session is how a worker's threads train with servers. A [Worker] is what its sessions share; [Worker.Open]
// makes one, which becomes a session of the strategy's mode at its first training step:
//
//	worker.go       what sessions share, and what waits for all of them
//	lockstep.go     the worker's round, its turn, the end of an epoch
//	open.go         a session becomes one of its mode
//	evaluation.go   a session that only looks
//
// The modes, each a session and what it needs:
//
//	sync.go         in rounds, sync and ssp: a push is answered when its round has closed
//	async.go        pushes go beside training, as mode.SendQueue says
//	pulling.go      the rows that it asks for, now or ahead
//	sender.go       its goroutines, which send gradients and bring weights
//	staging.go      where dense weights wait for the next step
//	halfasync.go    threads meet at each step, and push together
//	geo.go          a copy of the model, trained here
//	geoexchange.go  what it exchanges every k steps
//	copy.go         the copy, and what of it has changed
//
// What several need:
//
//	check.go        steps that are not the model's
//	intake.go       the door by which gradients come in
//	ahead.go        rows that are fetched before their step
//	frozen.go       values that no rule changes
//	signal.go       waking all who wait
//
// # A step
//
// Begin puts the weights of a step's rows, and the dense ones, where the training thread reads them, and End takes its
// gradients over. What a mode does in between is when requests go:
//
//	             Begin                                   End
//	sync, ssp    rows, unless the last push had them     push, and wait for the round
//	async        rows that were asked for ahead          copy, and a sender pushes
//	half_async   rows; wait for a push under way         wait for all threads, and one pushes for all
//	geo          none                                    train the copy; every k steps a sender exchanges
//
// # Goroutines and locks
//
// Sync and half_async have no goroutine: the training thread makes the requests. An asynchronous session has as many
// senders as requests may travel, and perhaps a receiver of dense weights; a worker in mode geo has one for the
// exchange under way. Close and Stop return when they have ended.
//
// A session belongs to one thread. What it shares with others it reaches by the Worker, whose lock is held for moments,
// never while a message travels; a session's own lock is taken before the Worker's, where both are. Sessions know
// servers by package exchange alone, so that a test needs a func for a server.
package session
