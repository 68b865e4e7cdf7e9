package roster

import (
	"maps"
	"slices"

	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/wire"
)

// Window records which requests of one life of a worker were seen, by their sequence numbers, so that a push counts
// once however often it arrives. The worker acknowledges the number below which it needs no answers; a bounded number
// of requests may be outstanding.
type Window struct {
	acked    uint64
	requests map[uint64]*Request
	// last is the highest push that was applied.
	last uint64
	// through is the highest number up to which every request is done, and at the places in the data that the worker's
	// threads have reached with them. at no longer changes after a refused push, when lost is set.
	through uint64
	at      []progress.Position
	lost    bool
	// accepted is the number of requests of the life that count.
	accepted uint64
}

// Request is the outcome of a request that changes something.
type Request struct {
	Done       bool
	Refusal    error // why it was refused, if it was
	Outcome    wire.Outcome
	seq, acked uint64 // as in its frame

	// positions are the places of the threads whose gradients the request pushes; one is their memory in most requests.
	positions []progress.Position
	one       [1]progress.Position
}

// maxOutstanding is far above what a worker sends: a few requests for each of its threads.
const maxOutstanding = 4096

// Enter returns the request of a number, and whether it was seen before. acked, below which the worker needs no
// answers, counts when the request is accepted, and as its first frame says.
func (w *Window) Enter(seq, acked uint64) (r *Request, seen bool, err error) {
	if acked > seq {
		return nil, false, wire.Refuse(wire.StatusRefused, "step %d acknowledges the steps below %d: none after "+
			"itself can have an answer",
			seq, acked)
	}
	if r := w.requests[seq]; r != nil {
		return r, true, nil
	}
	if seq < w.acked {
		return nil, false, wire.Refuse(wire.StatusStale, "step %d was acknowledged before (window begins at %d)", seq,
			w.acked)
	}
	if n := len(w.requests); n >= maxOutstanding && n-w.settled(acked) >= maxOutstanding {
		return nil, false, wire.Refuse(wire.StatusRefused,
			"%d steps are outstanding; a worker acknowledges what it has", n)
	}
	if w.requests == nil {
		w.requests = make(map[uint64]*Request)
	}
	r = &Request{seq: seq, acked: acked}
	w.requests[seq] = r
	return r, false, nil
}

// Accept notes that a request counts, and applies the acknowledgement in its frame.
func (w *Window) Accept(r *Request) {
	w.accepted++
	w.forget(r.acked)
}

// Withdraw refuses a request that has changed nothing, and frees its number for another request.
func (w *Window) Withdraw(r *Request, why error) {
	r.Refuse(why)
	if w.requests[r.seq] == r {
		delete(w.requests, r.seq)
	}
}

// Knows reports whether a request was seen, or is older than the acknowledged ones.
func (w *Window) Knows(seq uint64) bool { return seq < w.acked || w.requests[seq] != nil }

// Len is the number of recorded requests.
func (w *Window) Len() int { return len(w.requests) }

// Last is the highest push that was applied.
func (w *Window) Last() uint64 { return w.last }

// In is the highest request that counts, a push or another. Acknowledged ones are done on all servers.
func (w *Window) In() uint64 {
	in := w.last
	for seq, r := range w.requests {
		if r.Done && r.Refusal == nil {
			in = max(in, seq)
		}
	}
	return in
}

// Reached reports whether every request up to seq is done; pushes of several threads overtake each other. A worker
// sends each of its steps to every server, so that a missing one is on its way.
func (w *Window) Reached(seq uint64) bool {
	for i := max(w.acked, 1); i <= seq; i++ {
		if r := w.requests[i]; r == nil || !r.Done {
			return false
		}
	}
	return true
}

// Positions are the places in the data up to which every push of the worker's threads is in the tables; later pushes do
// not count while one is missing. The slice is valid until the next request.
func (w *Window) Positions() []progress.Position { return w.at }

// settle passes the requests that are done, in the order of their numbers, up to the first that is not, since pushes
// overtake each other. Acknowledged numbers without a request here were sent to other servers alone.
func (w *Window) settle() {
	if w.acked > w.through+maxOutstanding {
		w.leap()
	}
	for seq := w.through + 1; ; seq++ {
		r := w.requests[seq]
		if r == nil && seq >= w.acked || r != nil && !r.Done {
			return
		}
		w.pass(seq, r)
	}
}

// leap is settle for a large gap in the numbers, which no loop should cross.
func (w *Window) leap() {
	for _, seq := range slices.Sorted(maps.Keys(w.requests)) {
		if r := w.requests[seq]; seq < w.acked && seq > w.through {
			if !r.Done {
				w.through = seq - 1
				return
			}
			w.pass(seq, r)
		}
	}
	w.through = w.acked - 1
}

// pass applies the positions of a request; a nil request was another server's.
func (w *Window) pass(seq uint64, r *Request) {
	w.through = seq
	if r == nil {
		return
	}
	w.lost = w.lost || r.Refusal != nil
	if !w.lost {
		for _, p := range r.positions {
			w.at = progress.Moved(w.at, p)
		}
	}
}

// forget drops the requests that the worker has acknowledged.
func (w *Window) forget(acked uint64) {
	if acked <= w.acked {
		return
	}
	w.acked = acked
	w.settle()
	for seq, r := range w.requests {
		if r.settled(acked) {
			delete(w.requests, seq)
		}
	}
}

// settled is the number of requests that such an acknowledgement would drop.
func (w *Window) settled(acked uint64) (n int) {
	for _, r := range w.requests {
		if r.settled(acked) {
			n++
		}
	}
	return n
}

func (r *Request) settled(acked uint64) bool { return r.seq < acked && r.Done }

// Carry stores the places of the threads whose gradients the request pushes. The slice stays the caller's.
func (r *Request) Carry(positions []progress.Position) { r.positions = append(r.one[:0], positions...) }

// Apply notes that a request counts, except for dropped rows. In a round the dropped rows of all workers count for each
// of them, up to the number of its own rows.
func (r *Request) Apply(rows, dropped int, on uint64) {
	dropped = min(dropped, rows)
	r.Done, r.Outcome = true, wire.Outcome{Applied: uint32(rows - dropped), Dropped: uint64(dropped), On: on}
}

// Refuse notes that a request will never count.
func (r *Request) Refuse(err error) { r.Done, r.Refusal = true, err }
