// Package server is the parameter server: it holds one part of the weights (package table), receives pushes and answers
// pulls in wire frames. Decisions are taken by state machines without lock, clock or network: package mode decides when
// gradients become an update, package roster which workers are in the job, package cut which pushes a checkpoint holds.
// Package update does the arithmetic. This package adds the lock, the waiting, the network, the files and the log.
//
// Package state has the common state of all parts: the lock, the state machines under it, the tables, the journal's
// memory, and requests to other servers. A server is made of parts with fields of their own. In reading order, each
// file uses files above it alone:
//
//	config.go     what a server is told
//	base.go       the state from which a segment of the journal begins, and when no process comes back to it
//	meter.go      counters, and gauges of the job
//	handle.go     a request in, a reply out
//
// A push:
//
//	push.go       one worker's gradient, checked whole before anything changes
//	summing.go    dense gradients that are added up piece by piece, in rounds
//	pieces.go     pushes that come in several frames
//	rate.go       the factor on learning rates, and the update from which it counts
//	norms.go      the sums of squares of a round's gradient, one part from each server
//	clip.go       how servers add them up, for rules that clip by norm
//	recording.go  an update as a record of the journal
//	rounds.go     noted gradients become updates
//	changed.go    the rows that others have changed since a worker asked (mode geo)
//	delay.go      the weights that each worker has, for delay compensation
//	foresight.go  which answers have predicted weights
//	pushing.go    a push counts once however often it arrives, and is answered when it is in the weights
//
// A cut through all servers:
//
//	epochs.go     how far the job and its workers are, as their programs report it
//	led.go        who trains which epoch, and when all evaluate, on server 0
//	frozen.go     frozen dense params: the saving worker's, for the checkpoint and for workers that join later
//	load.go       the first weights: a checkpoint's, a model's, or those that worker 0 publishes
//	recovery.go   automatic checkpoints: the saving worker, the directory, those that stay
//	following.go  the job's own checkpoint to begin from, the same on all servers
//	save.go       the server's part of a checkpoint, and on server 0 the manifest
//	serving.go    which rows are in models for serving
//	reload.go     loading a checkpoint into the tables while the job runs
//	inhand.go     what the cut that is held has in hand: an image, lists of rows, other tables
//	works.go      checkpoints, models for serving and loads in a cut
//	holding.go    orders of server 0 in a cut
//	leading.go    cuts that this server leads as server 0
//
// An answer:
//
//	pull.go       rows and weights into a reply
//	scan.go       all rows of a table, page by page
//	step.go       a push, if there is one, and then the answer
//
// The workers:
//
//	differences.go  the difference that a refused process of another job is shown
//	lines.go      connections, which the system closes when a process dies
//	gather.go     barriers and reductions, on server 0
//	room.go       tables that are nearly full make room
//	members.go    workers join, live and leave
//	deaths.go     workers die
//
// The other servers, and the whole:
//
//	servers.go    the servers of this run of the job
//	bond.go       checks that another server is alive
//	goodbye.go    the last messages to other servers when this one ends
//	growth.go     a large journal has a checkpoint saved
//	stopping.go   a last checkpoint before a server that was asked to end does so
//	returning.go  a server that is started again returns to where its journal ends
//	outside.go    readers that take no part in the job
//	gauges.go     where the meter's gauges are read
//	presence.go   answers to probes
//	server.go     the parts of a server, and how its tables are filled first
//	run.go        the life of a server
//
// # A round
//
// The path of a push in a mode with rounds, here on a server of two workers; without rounds the mode answers the first
// push with an update.
//
//	worker 0          worker 1           handlers, under the lock                             tables
//	   │ step, seq 7      │
//	   ├─────────────────────────────> sender? seen before? turn? ──> mode.Push: wait
//	   │                  │ step, seq 4
//	   │                  ├───────────> sender? seen before? turn? ──> mode.Push: apply 0 1
//	   │                  │                 take: the tables' next step
//	   │                  │                                     lock released ──────────────> fold, clip, apply
//	   │                  │                 both pushes count, the round is reached <─────── finish
//	   │ <────────────────┴───────────── answers: the new weights, and the rows asked for
//
// "Turn" is the end of three waits: until the weights are published, until every update that the frame's round must
// reflect is in the tables, and until no cut holds the step and no worker's death is being decided. A push that comes
// again joins the first at "seen before" and waits for the same answer.
//
// # Goroutines
//
// Nearly all code runs on the goroutine of a request, which the transport has started: it takes the lock, may wait for
// others by the monitor, and answers when it returns. Beside requests a server has these goroutines, each of which
// takes the lock briefly:
//
//	Run           waits for the end of the job, and then for all others below
//	deaths        finds silent workers; on server 0 it takes workers out, one after the other
//	servers       probes server 0; on server 0 one for each other server
//	growth        checks the size of the journal
//	moves         shows that the lock is free
//	leading       on server 0 one for each server that has an order, and one for a commit
//	holding       the work of the cut that is held
//	rounds        updates that wait for the norms of other servers
//	stopping      a server that was asked to end, until a checkpoint is whole
//
// The comment of a method states whether its caller holds the lock, and whether the method releases the lock in
// between: its caller must then check the state again.
//
// # Invariants
//
//   - What is acknowledged is in the tables: an answer is sent when the update with the push is finished, and not
//     before.
//   - A push counts once: only the first request of a sequence number is given to the mode, and only its window records
//     that it is done.
//   - A refused frame has changed nothing: frames are parsed and checked whole before they reach the mode.
//   - The steps that a checkpoint holds are the same on all servers: pushes beyond them are held before they reach the
//     mode, so that no update can include one of them, and the part is written when all others are applied and none
//     is under way.
//   - A request's memory outlives its gradient: a handler whose wait fails still waits until no update is being
//     applied.
//   - No wait is without end: each ends with the job's failure, the server's closing or the wait timeout, and its error
//     names the role for which it waited.
//
// # What comes next
//
// A server that takes over a part would be made as any other and load that part before it listens; to the other servers
// it is an endpoint that package state's peers.go calls. A worker that comes back into a round would pass through
// members.go, where the parts learn that a life begins.
package server
