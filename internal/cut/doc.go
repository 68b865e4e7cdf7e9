// Package cut leads cuts: moments between steps at which something is done on all servers of a job. It has the two
// machines for that, without clock, lock, network, files or goroutine. Messages go in, decisions come out; package
// server feeds them under its lock and does what they say.
//
// A worker, the anchor, asks server 0 for a cut. Its [Leader] numbers cuts and leads one at a time: it has every
// server, server 0 too, hold pushes, takes the furthest steps that any has as the cut's, and orders the works of
// the anchor's plan. Each server has a [Follower], which holds pushes for one cut and begins what it is ordered. The
// drawings are at the two types.
//
// # Files
//
//	plan.go      what is done in a cut
//	order.go     what a leader, its followers and workers say to each other, and what the leader's journal has
//	past.go      calls that are over, and whom they serve
//	leader.go    who asks, who is next, who is gone
//	leading.go   a cut from phase to phase, by servers' answers
//	sharing.go   a cut that a call before serves, and what a journal brings back
//	follower.go  what a server holds and does
//
// # Invariants
//
//   - One cut is under way in a job. Its number is in server 0's journal before any server has it, and followers refuse
//     lower ones.
//   - Which steps a cut has is said once; pushes beyond them wait from the hold until there is an image of the part, or
//     until all is done. So all servers do their work at the same steps.
//   - A message that comes twice gets the same answer, and one that comes late begins nothing.
//   - Until the first order of a final work (end, mark, take) everything can be taken back, and is when the anchor is
//     gone. From there on nothing is, whichever process ends: server 0 noted the intent, and each server does a name
//     once.
//   - Only what all servers have written is committed, and only by server 0.
//   - A hold is a lease: signs of life of server 0 free a server that holds a cut which is over.
package cut
