// Package roster is what a server knows of the workers of its job: who has joined, with which life, what of each was
// seen before, who has fallen silent, and what servers must agree on before a worker is declared dead. It is a state
// machine without clock, lock, network or goroutine: the time is an argument. Package server feeds it under its lock
// and does what it says.
//
//	member.go      how one worker stands, and all
//	roster.go      who is in the job, with which life, and what counts of it
//	standing.go    how each stands, for what counts and what describes them
//	lives.go       which process of a worker has which life, on server 0
//	savers.go      which worker saves
//	window.go      which requests of a life were seen, so that each counts once
//	generation.go  what frames of one generation prove
//	returns.go     what a server that is started again has to know of them
//	death.go       what server 0 asks of all servers when a worker is silent
//	hope.go        how long a server waits for workers that are not there
//
// A worker's processes are numbered by server 0: each is a life, and a server takes requests of the newest that it
// knows.
//
//	         join               leave
//	absent ────────> alive ───────────────> left
//	                 │  ▲
//	          fence  │  │ join of another process: the next life, with an empty window. Where workers go in step it is
//	                 ▼  │ refused, unless the life before has not pushed yet.
//	                fenced ──────────────> dead
//	                          drop
//
// # A death
//
// Only server 0 declares a worker dead, since others could disagree. In rounds the worker's last gradient may have come
// to some servers and not to others, and must count on all of them or on none. So server 0 goes twice around:
//
//	server 0                                  every server
//	  silent for too long
//	  fence ─────────────────────────────────>  refuses what the life still sends,
//	                                             says which round is open, and whether it has the gradient for it
//	  forget it? if all are in one round
//	  and one of them lacks it
//	  drop, forget or not ───────────────────>  takes the worker out of the round, with its gradient or without,
//	                                             says up to which round gradients of it count
//	  torn? if these rounds differ
//
// Between the two nothing of the worker can come in and no round closes, so that the answers to the first still hold at
// the second. Rounds are torn if one server had closed the round before it was fenced, and another never got the
// gradient: that one can't be taken out of the weights.
//
// # Invariants
//
//   - A life's number only grows, and its window is its own: a request of an earlier life is refused, whatever its
//     sequence number.
//   - A request enters a window once. It leaves only when its worker has said that it needs no answer any more, and
//     what is older is refused.
//   - A fenced life never becomes alive again.
//
// # What comes next
//
// A part that another server takes over begins with an empty roster, and workers join it as they join any server that
// they have not said hello to. A worker that comes back into a round is one whose next life [Roster.Begin] lets in also
// in step, with the round that server 0 names for it.
package roster
