// Package session trains with servers from the threads of a worker. A [Worker] is the common state of its sessions;
// [Worker.Open] makes one, which becomes a session of the strategy's mode at its first training step:
//
//	worker.go       the common state of sessions, and waits for all of them
//	lockstep.go     the worker's round, its turn, the end of an epoch
//	open.go         a session becomes one of its mode
//	evaluation.go   a session that only evaluates
//
// The modes, each a session and its parts:
//
//	sync.go         in rounds, sync and ssp: a push is answered when its round has closed
//	async.go        pushes are sent in the background, as mode.SendQueue decides
//	pulling.go      its pulls of rows, for this step or ahead
//	sender.go       its goroutines, which send gradients and fetch weights
//	staging.go      dense weights that wait for the next step
//	halfasync.go    threads wait for each other at each step, and push together
//	geo.go          a copy of the model, trained here
//	geoexchange.go  its exchanges every k steps
//	copy.go         the copy, and its changes
//
// Parts of several modes:
//
//	check.go        steps that do not fit the model
//	intake.go       checks and clips on gradients as they come in
//	ahead.go        rows that are fetched before their step
//	frozen.go       values that no rule changes
//	unsent.go       updates that a worker has and servers have not
//	signal.go       waking all waiters
//
// # A step
//
// Begin copies the weights of a step's rows, and the dense ones, to where the training thread reads them, and End takes
// its gradients. The modes differ in when requests are made:
//
//	             Begin                                   End
//	sync, ssp    rows, unless the last push had them     push, and wait for the round
//	async        rows, if not requested ahead, with      copy; a sender pushes, if the
//	             the gradient before if that still waits thread does not come first
//	half_async   rows; wait for a push under way         wait for all threads, and one pushes for all
//	geo          none                                    train the copy; every k steps a sender exchanges
//
// # Goroutines and locks
//
// Sync and half_async have no goroutine: the training thread makes the requests. In an asynchronous session it makes
// those that it waits for. As many senders as requests may be under way make the others, and perhaps a receiver of
// dense weights. A worker in mode geo has one goroutine for the exchange under way. Close and Stop return when they
// have ended.
//
// A session belongs to one thread. It reaches what it shares with others through the Worker, whose lock is held
// briefly, never while a message travels; if both locks are held, a session's own lock is taken before the Worker's.
// Sessions reach servers through package exchange alone, so that a test needs a func for a server.
package session
