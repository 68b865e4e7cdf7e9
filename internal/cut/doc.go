// Package cut is a checkpoint's cut as one server sees it: a state machine without clock, lock, network, files or
// goroutine. Messages go in, decisions come out; package server feeds it under its lock and does what it says.
//
// A cut is a moment between steps that all servers agree on. The worker that saves finds it in two trips. First every
// server stops taking new steps and says how far each worker's are in its tables. Then the worker names the furthest
// steps that any server has, every server lets those through that it lacks, and does its part of the work: it writes
// its tables to a file, ends a period of theirs (drops rows), or keeps the cut while the worker reads.
//
//	           freeze            save, with steps      the steps are in the tables
//	(unknown) ────────> Freezing ───────────────> Reaching ──────────┬────────> Reading ──> Taken
//	                       │                         │               │             │
//	pushes:    free        │   all wait              │  wait beyond  │  wait until │  all wait
//	                       │                         │  those steps  │  imaged     │
//	                       │                         │               ▼             │
//	                       │                         │            Writing          │
//	                       │                         │               │ wrote       │
//	                       │                         │               ▼             │
//	                       │                         │            Written ─────────┼──> Committed
//	                       │ give up, or             │ give up       │  give up    │     commit (server 0):
//	                       │ the worker is gone      ▼               ▼             │     all parts are there
//	                       └───────────────────> GivenUp <───────────┴─────────────┘
//
// In Taken the tables have become others, at the word of the worker that reads: what it gives up then is torn, since
// other servers may have the tables from before. End, its last word, is giving up without harm.
//
// While a cut is in Reading the tables may take note of what its worker has saved for serving; one that is given up
// meanwhile holds pushes until they have.
//
// Pushes are free again when there is an image of what a part is to have, which is then written, and in Written,
// Committed and GivenUp. A save that is given up while its work is done goes on to that end: no other begins before,
// and its result is refused. While its steps are waited for, that is at once: whoever waits looks whether it was given
// up.
//
// # Files
//
//	machine.go  saves, and what ends them
//	reach.go    from freezing to reading or writing
//	commit.go   what is written becomes whole
//	take.go     tables that become others in a cut that is read
//	period.go   the end of a period that was committed last
//
// Beside that machine stands what takes its place, plan by plan: [Leader] leads the cuts of a job on server 0, and each
// server has a [Follower]. Servers run them for the plan End; cuts of the other plans are led by their workers still,
// and each kind waits for the other.
//
//	plan.go      what is done in a cut
//	order.go     what a leader, its followers and workers say to each other, and what the leader's journal has
//	leader.go    who asks, who is next, who is gone
//	leading.go   a cut from phase to phase, by servers' answers
//	sharing.go   calls that are answered by what was done before, also by the process before
//	follower.go  what a server holds and does
//
// # Invariants
//
//   - At most one save holds pushes on a server, and on server 0 at most one is open, from freeze to commit or giving
//     up. Saves freeze server 0 first, so that no two of them hold pushes on different servers and wait for each other.
//   - Which steps a cut holds is said once, by [Machine.Reach]; pushes beyond them are held from freeze until there is
//     an image of the part, or its work is done. So all parts hold the same steps of each worker.
//   - A message that comes twice gets the same answer, and one that comes late begins nothing: a save that is over
//     stays over, and is remembered longer than its messages travel.
//   - Only what is written can be committed, and only server 0 commits, one save at a time: two manifests that are
//     written at once would remove each other's files.
//   - What is committed stays: giving up or discarding a save after that changes nothing.
//
// # What comes next
//
// A server that takes over another's part is a server that begins from a committed save, and needs nothing here: its
// machine begins empty, so that saves under way there are refused and begun again. A worker that comes back into a
// round finds its steps in upTo as before, since they are counted by worker and not by life.
package cut
