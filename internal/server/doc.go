// Package server is the parameter server: it holds one part of the weights (package table), takes pushes and answers
// pulls in wire frames. What is decided is decided by machines without lock, clock or network: when gradients become an
// update by package mode, who is in the job and what was seen of it by package roster, which pushes a checkpoint holds
// by package cut. What is computed is package update's. This package has what they do without: the lock, the waiting,
// the network, the files and the log.
//
// What all parts stand on is package state: the lock, the machines under it, the tables, the journal's memory, requests
// to other servers. A server is made of parts with fields of their own. In reading order, each uses parts above it:
//
//	base.go       what a segment of the journal begins from
//	servers.go    which servers are of this generation
//	bond.go       whether another of them lives
//	goodbye.go    what they are told when this one ends
//
// A push:
//
//	push.go       one worker's gradient, checked whole before anything
//	pieces.go     pushes that come in several frames
//	summing.go    and whose dense gradients are added up as they come, in rounds
//	rate.go       the factor on learning rates, and from which update on it counts
//	norms.go      the sums of squares of a round's gradient, of which every server has a part
//	clip.go       how servers bring them together, for rules that clip by norm
//	rounds.go     noted gradients become updates
//	recording.go  an update as the journal has it
//	changed.go    which rows others have changed since a worker asked (mode geo)
//	delay.go      which weights a worker has, for delay compensation
//	foresight.go  which answers have foreseen weights
//	pushing.go    counted once however often it arrives, and answered when it is in the weights
//
// An answer:
//
//	pull.go       rows and weights into a reply
//	scan.go       all rows of a table, page by page
//	step.go       a push, if there is one, and then the answer
//
// A cut through all servers:
//
//	frozen.go     frozen dense params: the saving worker's, for the checkpoint and for workers that join later
//	load.go       the first weights: a checkpoint's, a model's, or what worker 0 publishes
//	following.go  a checkpoint of the job's own, the same on all servers
//	recovery.go   checkpoints that the job makes by itself: who saves, where, which stay
//	stopping.go   a last one before a server ends that was asked to
//	save.go       the server's part of a checkpoint, and on server 0 the manifest
//	holding.go    what server 0 orders in a cut
//	works.go      checkpoints, models for serving and loads in such a cut
//	leading.go    cuts that this server leads as server 0
//	serving.go    what a model for serving takes of the tables
//	reload.go     tables that become a checkpoint's while the job runs
//
// The workers, and the whole:
//
//	differences.go  what processes of another job are told
//	members.go    they join, live, leave
//	deaths.go     and die
//	meter.go      what is counted, and how the job stands
//	lines.go      which the system tells of, where a process dies alone
//	looking.go    what other roles tell server 0 of themselves while somebody looks at a page of it
//	gather.go     barriers and reductions, on server 0
//	growth.go     a journal that has become large has a checkpoint saved
//	returning.go  a server that is started again comes back to where its journal ends
//	handle.go     a request in, a reply out
//	outside.go    readers that take no part in the job
//	presence.go   what probes are told
//	server.go     what a server is made of, and what its tables begin with
//	run.go        its life
//
// # A round
//
// The way of a push in a mode with rounds, here on a server of two workers; without rounds the mode answers the first
// push with an update.
//
//	worker 0          worker 1           handlers, under the lock                             tables
//	   │ step, seq 7      │
//	   ├─────────────────────────────> sender? seen before? turn? ──> mode.Push: wait
//	   │                  │ step, seq 4
//	   │                  ├───────────> sender? seen before? turn? ──> mode.Push: apply 0 1
//	   │                  │                 take: the tables' next step
//	   │                  │                                     lock given up ─────────────> fold, clip, apply
//	   │                  │                 both pushes count, the round is reached <─────── finish
//	   │ <────────────────┴───────────── answers: the new weights, and the rows asked for
//
// "Turn" is the end of three waits: until the weights are published, until every update that the frame's round must
// reflect is in the tables, and until no cut holds the step and no worker's death is being decided. A push that comes
// again joins the first at "seen before" and waits for the same answer.
//
// # Goroutines
//
// Nearly all code runs on the goroutine of a request, one for each, which the transport has begun: it takes the lock,
// may wait for others by the monitor, and answers when it returns. Beside requests a server has these, each of which
// takes the lock for moments:
//
//	Run           waits for the end of the job, and for that of all others below
//	deaths        looks for silence; on server 0 it takes workers out, one after the other
//	servers       asks server 0 whether it lives; on server 0 one for each other server
//	growth        looks at the size of the journal
//	moves         shows that the lock is free
//	leading       on server 0 one for each server that has an order, and one for a commit
//	holding       the work of the cut that is held
//	rounds        updates that wait for the norms of other servers
//	stopping      a server that was asked to end, until a checkpoint is whole
//
// What a method needs is in its comment: "locked" means that the lock is held when it is called and when it returns;
// "locked, but not while" says when it is given up in between, so that a caller asks again what it knew before.
//
// # Invariants
//
//   - What is acknowledged is in the tables: an answer is sent when the update with the push is finished, and not
//     before.
//   - A push counts once: only the first request of a sequence number is given to the mode, and only its window says
//     that it is done.
//   - A refused frame has changed nothing: frames are parsed and checked whole before the mode hears of them.
//   - The steps that a checkpoint holds are the same on all servers: pushes beyond them are held before the mode has
//     them, so that no update can take one of them along, and the part is written when all others are applied and none
//     is under way.
//   - A request's memory outlives its gradient: a handler whose wait fails still waits until no update is being
//     applied.
//   - No wait is without end: every one ends with the job's failure, the server's closing or the wait timeout, and
//     says for whom it was.
//
// # What comes next
//
// A server that takes over a part is made as any other and loads that part before it opens its door; to the other
// servers it is an endpoint that peers.go calls. A worker that comes back into a round passes members.go, where the
// parts are told that a life begins.
package server
