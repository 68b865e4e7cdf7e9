// Package state is what all parts of a parameter server stand on. It imports nothing of package server, whose parts use
// it and each other.
//
// [Job] has the machines that decide, under the lock of a [Monitor], which is the one way to wait for a change: each
// wait ends with the job's failure, the server's closing or the wait timeout, and says for whom it was. [Part] is what
// lives on one server. [Memory] is what of its parts outlives a kill: each part registers facts, and decisions that the
// [Journal] has before a request is answered. [Peers] are the other servers, [Reply] is an answer under way.
//
// Files, in reading order:
//
//	monitor.go    the lock, how to wait for a change, and how the job fails
//	state.go      the machines under that lock, and the waits that many need
//	part.go       the tables, and what of a frame's names lives here
//	reply.go      the memory of an answer
//	lives.go      which of two processes of one server counts
//	peers.go      requests to other servers
//	journal.go    what changes is recorded, before anybody is answered
//	facts.go      what of the parts outlives a kill: each registers its own
package state
