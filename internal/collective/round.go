package collective

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/gofleet/gofleet/internal/progress"
)

// round is this rank's state of one collective. It is kept, with its results, until no rank can ask for them again.
type round struct {
	what     what
	size     int // bytes of an element
	from, to int // this rank's segment

	fold   func(chunk int, s *slot) // reduces a chunk into the result, and into the caller's vector
	result []byte                   // of this rank's segment, in bytes of a message
	slots  []slot                   // by chunk of this rank's segment

	mu    sync.Mutex     // guards what follows, and the slots
	heard []bool         // by rank: it has reached this collective
	gave  []bool         // by rank: its results have come
	ended bool           // the caller has returned: no fold may begin
	reads int            // answers being sent
	folds sync.WaitGroup // under way
}

// slot is a chunk that waits for the parts of all ranks.
type slot struct {
	parts   [][]byte // by rank
	shares  []Part
	there   []bool
	missing int
	folding bool
	done    chan struct{} // closed when the result is complete
}

func newRound(w what, rank, ranks, size int) *round {
	r := &round{what: w, size: size, heard: make([]bool, ranks), gave: make([]bool, ranks)}
	r.heard[rank], r.gave[rank] = true, true
	r.from, r.to = segment(w.length, rank, ranks)
	if w.op == opGather {
		return r
	}
	r.slots = make([]slot, chunks(r.to-r.from, w.cut))
	for i := range r.slots {
		r.slots[i] = slot{parts: make([][]byte, ranks), shares: make([]Part, ranks), there: make([]bool, ranks),
			missing: ranks, done: make(chan struct{})}
	}
	return r
}

// give puts a rank's part of a chunk into the round and waits for the result. part is read until give returns.
func (r *round) give(ctx context.Context, rank, chunk int, p Part, part []byte) error {
	r.put(rank, chunk, p, part)
	select {
	case <-r.slots[chunk].done:
		return nil
	case <-ctx.Done():
	}
	if r.withdraw(rank, chunk) {
		return context.Cause(ctx)
	}
	<-r.slots[chunk].done
	return nil
}

// put stores a part, unless it is stored already, and reduces the chunk if it was the last one.
func (r *round) put(rank, chunk int, p Part, part []byte) {
	r.mu.Lock()
	s := &r.slots[chunk]
	r.heard[rank] = true
	if s.there[rank] || s.folding || r.ended {
		r.mu.Unlock()
		return
	}
	s.there[rank], s.parts[rank], s.shares[rank] = true, part, p
	s.missing--
	s.folding = s.missing == 0
	last := s.folding
	if last {
		r.folds.Add(1)
	}
	r.mu.Unlock()
	if last {
		r.fold(chunk, s)
		close(s.done)
		r.folds.Done()
	}
}

// withdraw removes a part whose memory is about to be reused. It returns false if a fold uses or has used the part.
func (r *round) withdraw(rank, chunk int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &r.slots[chunk]
	if s.folding {
		return false
	}
	if s.there[rank] {
		s.there[rank], s.parts[rank] = false, nil
		s.missing++
	}
	return true
}

// end prevents further folds, and returns when none reads or writes the caller's vector any more.
func (r *round) end() {
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
	r.folds.Wait()
}

// read returns the result of a complete chunk, which stays unchanged until doneReading is called.
func (r *round) read(chunk int) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads++
	from, to := chunkAt(0, len(r.result)/r.size, chunk, r.what.cut)
	return r.result[from*r.size : to*r.size]
}

func (r *round) doneReading() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads--
}

// reclaim returns the result's memory for another round, nil while an answer reads it.
func (r *round) reclaim() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reads > 0 {
		return nil
	}
	memory := r.result
	r.result = nil
	return memory
}

// members sums up the ranks' parts of a complete chunk.
func (r *round) members(chunk int) (m Members) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.slots[chunk].shares {
		m.Weight += uint64(p.Weight)
		if p.Ended {
			m.Ended++
		}
		m.News = m.News || p.News
		m.At = append(m.At, p.At)
	}
	return m
}

// missing returns the ranks that have not reached this collective, as far as this rank knows; if all have, the ranks
// whose parts have not all come; if all have come, the ranks whose results have not.
func (r *round) missing() []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	given := func(rank int) bool {
		return !slices.ContainsFunc(r.slots, func(s slot) bool { return !s.there[rank] })
	}
	for _, has := range []func(rank int) bool{
		func(rank int) bool { return r.heard[rank] }, given, func(rank int) bool { return r.gave[rank] },
	} {
		var ranks []int
		for rank := range r.heard {
			if !has(rank) {
				ranks = append(ranks, rank)
			}
		}
		if ranks != nil {
			return ranks
		}
	}
	return nil
}

// hear records that a rank has reached this collective.
func (r *round) hear(rank int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heard[rank] = true
}

// answered records that all results of a rank have come.
func (r *round) answered(rank int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gave[rank] = true
}

// check returns an error if the chunk's number or the size of a part is wrong. A message of a segment's first chunk may
// have frozen values behind its part, which check moves to the request.
func (r *round) check(q *request, body []byte) (part []byte, err error) {
	if q.what.op == opGather {
		return nil, nil
	}
	if q.chunk < 0 || q.chunk >= len(r.slots) {
		return nil, fmt.Errorf("%w: chunk %d of %d", ErrMessage, q.chunk, len(r.slots))
	}
	from, to := chunkAt(r.from, r.to, q.chunk, r.what.cut)
	want := (to - from) * r.size
	if silent(r.what, q.rank, q.part) {
		want = 0
	}
	if len(body) < want || len(body) > want && (q.chunk > 0 || q.part.At.Threads == 0) {
		return nil, fmt.Errorf("%w: %d bytes in chunk %d, which has %d", ErrMessage, len(body), q.chunk, want)
	}
	q.part.At.Frozen = progress.Packed(body[want:])
	return body[:want], nil
}

// silent reports whether a rank sends no elements for a chunk.
func silent(w what, rank int, p Part) bool {
	return w.op == opFirst && rank != w.root || w.op == mean && p.Weight == 0
}
