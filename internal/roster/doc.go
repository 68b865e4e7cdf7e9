// Package roster records the workers of a job on a server: those that have joined, with their lives, the requests seen,
// the silent workers, and the agreement of servers before a worker is declared dead. It is a state machine without
// clock, lock, network or goroutine: the time is an argument. Package server calls it under its lock and executes its
// decisions.
//
//	window.go      the requests of a life that were seen, so that each counts once
//	member.go      the state of one worker, and of all
//	hope.go        how long a server waits for missing workers
//	lives.go       the lives of a worker's processes, on server 0
//	savers.go      the worker that saves
//	roster.go      the workers in the job, their lives, and the requests that count
//	standing.go    the state of each worker, for counters and messages
//	generation.go  the proof in frames of one generation
//	returns.go     the state that a restarted server needs
//	death.go       server 0's questions to all servers when a worker is silent
//
// Server 0 numbers a worker's processes: each is a life, and a server accepts requests of the newest life that it has
// seen.
//
//	         join               leave
//	absent ────────> alive ───────────────> left
//	                 │  ▲
//	          fence  │  │ join of another process: the next life, with an empty window. In lockstep it is
//	                 ▼  │ refused, unless the life before has not pushed yet.
//	                fenced ──────────────> dead
//	                          drop
//
// # A death
//
// Only server 0 declares a worker dead, since servers could disagree. In rounds the worker's last gradient may have
// reached some servers and not others, and must count on all of them or on none. So there are two passes:
//
//	server 0                                  every server
//	  silent for too long
//	  fence ─────────────────────────────────>  refuses what the life still sends,
//	                                             reports its open round, and whether it has the gradient for it
//	  forget it? if all are in one round
//	  and one of them lacks it
//	  drop, forget or not ───────────────────>  takes the worker out of the round, with its gradient or without,
//	                                             reports up to which round its gradients count
//	  torn? if these rounds differ
//
// Between the two passes no request of the worker is accepted and no round closes, so that the answers to the first
// pass still hold in the second. Rounds are torn if one server had closed the round before it was fenced, and another
// never got the gradient: it can't be taken out of the first server's weights.
//
// # Invariants
//
//   - A life's number only grows, and each life has its own window: a request of an earlier life is refused, whatever
//     its sequence number.
//   - A request enters a window once. It leaves only when its worker has acknowledged the answer; older requests are
//     refused.
//   - A fenced life never becomes alive again.
//
// # What comes next
//
// A part that another server takes over would begin with an empty roster, and workers would join it like any server
// that they have not said hello to. A worker that comes back into a round would need [Roster.Begin] to accept its next
// life in lockstep too, with the round that server 0 names for it.
package roster
