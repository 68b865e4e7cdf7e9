// Package cut leads cuts: moments between steps at which something is done on all servers of a job. It has two state
// machines, without clock, lock, network, files or goroutine. Messages go in, decisions come out; package server calls
// the machines under its lock and carries out their decisions.
//
// A worker, the anchor, asks server 0 for a cut. Its [Leader] numbers cuts and leads one at a time: it orders every
// server, server 0 too, to hold pushes; the cut's steps are, by worker, the furthest that any server has; then it
// orders the works of the anchor's plan. Each server has a [Follower], which holds pushes for one cut and begins the
// works that are ordered. The two types have drawings of their states.
//
// # Files
//
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
//   - A hold is a lease: heartbeats of server 0 free a server that holds a cut which is over.
package cut
