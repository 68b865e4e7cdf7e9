// Package state holds what all parts of a parameter server share. It does not import package server.
//
// [Job] has the state machines that take decisions, under the lock of a [Monitor]. The monitor is the only way to wait
// for a change: each wait ends with the job's failure, the server's closing or the wait timeout, and its error says
// which role it waited for. [Part] is the part of the model on one server. [Memory] is the state that survives a kill:
// each part registers its facts, and the decisions that are written to the [Journal] before a request is answered.
// [Peers] sends requests to the other servers. [Reply] is the memory of one answer.
//
// Files, in reading order:
//
//	monitor.go    the lock, waiting for a change, and the job's failure
//	lives.go      which of two processes of one server counts
//	state.go      the state machines under that lock, and waits that several parts need
//	part.go       the tables, and which params and rows of a frame are on this server
//	reply.go      the memory of an answer
//	peers.go      requests to other servers
//	journal.go    records of changes, written before requests are answered
//	facts.go      the state of the parts that survives a kill
package state
