// Package cut leads cuts: moments between steps at which something is done on all servers of a job. It has two state
// machines, without clock, lock, network, files or goroutine. Messages go in, decisions come out; package server calls
// the machines under its lock and carries out their decisions.
//
// # One cut
//
// A cut is for a [Task], whose plan is a few works: write and commit a checkpoint, end a period, read a model, mark
// what was read as served, take what was read aside. A worker, the anchor, asks server 0 for it. The anchor brings the
// job's progress when all servers hold pushes, and it reads; it orders nothing.
//
// Server 0's [Leader] numbers cuts and leads one at a time. It orders every server, server 0 too, to hold pushes. Each
// answers how far each worker has come there. The cut's steps are, by worker, the furthest that any server has; servers
// first apply every step that any of them already has. Then the leader orders the works. Each server has a [Follower],
// which holds pushes for one cut and begins the works that are ordered. The two types have drawings of their states.
//
// In rounds a worker asks in its turn, so that no round closes meanwhile. An anchor that leaves, dies or begins another
// life ends its cut; a checkpoint of which all servers have the image is finished without it.
//
// Ending, marking and taking are final. Server 0 records the intent before the first such order and the end after
// the last answer; each server records the work's name when it does it. A restarted server 0 resumes the intent with
// the hold in place. Meanwhile no worker is declared dead, and no life begins. So each name happens once on every
// server, or all go back to one checkpoint.
//
// # Files
//
//	task.go      what a cut is for
//	plan.go      the works of a cut
//	order.go     messages between leader, followers and workers, and the leader's records in a journal
//	past.go      calls that are over, and the later calls that they serve
//	leader.go    the queue of calls, and anchors that leave or die
//	leading.go   a cut from phase to phase, by servers' answers
//	sharing.go   answering a call with the result of another, and restoring a leader from a journal
//	follower.go  a server's holding of pushes, and its works
//
// # Invariants
//
//   - One cut is under way in a job. Its number is in server 0's journal before any server has it, and followers refuse
//     lower ones.
//   - The steps of a cut are set once; pushes beyond them wait from the hold until there is an image of the part, or
//     until all works are done. So all servers do their work at the same steps.
//   - A message that comes twice gets the same answer, and one that comes late begins nothing.
//   - Before the first order of a final work (end, mark, take) everything can be undone, and is if the anchor is gone.
//     After it nothing is undone, whichever process ends: server 0 has recorded the intent, and each server does a named
//     work once.
//   - Only what all servers have written is committed, and only by server 0.
//   - A hold is a lease: heartbeats of server 0 name the highest number and the cut under way, and free a server that
//     holds any other up to that number.
//
// # Choices
//
//   - Steps are reached by an order of their own, before the intent. After it no death could be declared, and the steps
//     of the dead would be waited for.
//   - Servers end no hold by themselves when the anchor is gone: a round could close on one of them while server 0 holds
//     the pushes that its norms wait for.
//   - A restarted server may hold anew by an order that came late, with steps after the cut. It writes none of those.
//   - An anchor whose steps go on, since all servers have the image, asks again itself when a part is lost: server 0 has
//     no turn for it.
//   - Directories of the job's own checkpoints are made while all servers hold, since they are numbered in the order of
//     cuts, which a base must be older than. What may be slow, a claim and a look at the base, is done before. Frozen
//     values are brought during the hold, since other threads may change them until then.
//   - A worker has servers doubt a model for serving (wire.OpServe) before it makes the model whole. The doubt is no
//     part of the cut, and stays when the worker dies.
//   - A cut that is only read ends with a question to all servers whether they have held it all the time. If one was
//     restarted, the worker reads anew.
//   - A death waits for a final work, and a final work for a death: from the fence to the last drop no server begins one.
//   - Loads and images exclude each other: a cut begins when the one before is over, with its parts written and its
//     images closed.
//   - Calls are noted by id when they are over. An anchor that asks anew gets the answer of what was done, and a question
//     that comes late begins nothing.
package cut
