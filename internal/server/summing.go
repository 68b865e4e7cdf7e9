package server

import (
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// summing adds up, in modes with rounds, dense gradients that are too large for a frame: each span of them when all
// workers of the round have sent theirs, in the order of workers. A server then holds one gradient, and one piece of
// each worker's, however many workers there are.
//
// A piece is answered when its span is in the sum. The step itself, which comes last, waits until all have sent theirs,
// and then all are noted at once: the round has either every gradient of the sum, or none.
//
//	worker 0   ── [0, 2M) ──▶ │ waits              ┌──▶ ok ── [2M, 4M) ──▶ …  ── step ──▶ │ waits           ┌──▶ answer
//	worker 1   ───────── [0, 2M) ──▶ │ added up ───┴──▶ ok ── [2M, 4M) ──▶ …      ── step ──▶ │ noted, applied ┴──▶ answer
//
// If a worker is lost whose part is in the sum, that part can't be taken out again: the sum is given up, and the
// others, which still have their gradients, are asked to begin again with their first piece (wire.StatusAgain).
type summing struct {
	st        *state.Job
	mode      mode.Server
	roster    *roster.Roster
	part      *state.Part
	weighting strategy.Weighting
	// on reports that no worker's gradient fits into a frame; otherwise pieces are kept until the last has come.
	on   bool
	note func(*push, mode.Round) // adds a push to its round

	// The fields below are guarded by the server's lock, except sum while adding is set. sum has this server's dense
	// values, and is reused for each round.
	sum     []float32
	to      int       // the sum is complete up to here
	workers []int     // whose gradients are in the sum; nil at the start
	factors []float32 // of workers
	// adding reports that a span is being added without the lock: no other span may begin.
	adding  bool
	waiting []*addend // by worker: what its handler waits with
}

// addend is the part of a worker's gradient that waits to be added: a span, or the step when all spans are in the sum.
// It belongs to its handler, which waits until done is set or its own wait fails.
type addend struct {
	from, to int
	dense    []float32 // in the frame, which lives as long as its handler waits
	samples  int
	push     *push // of the step, else nil
	// held makes the handler wait, and with it the frame's memory, until the span is added.
	held bool // the span is being read
	done bool // err has the outcome
	err  error
}

// newSumming makes the sum of a server. It is on in modes with rounds if the dense gradient does not fit into a frame
// of MaxFrame and is sent as float32; note is [rounds.push].
func newSumming(st *state.Job, p *state.Part, s strategy.Strategy, rounds bool, note func(*push, mode.Round)) *summing {
	large := wire.Float32.DenseSize(p.Floats) > s.MaxFrame-wire.FrameOverhead
	return &summing{st: st, roster: st.Roster, mode: st.Mode, part: p, weighting: s.Weighting, on: rounds && large &&
		s.Payload == strategy.PayloadFloat32,
		note: note, waiting: make([]*addend, st.Roster.Workers())}
}

// again is the refusal that makes a worker send its gradient from its first piece on.
func again(worker int, r mode.Round) error {
	return wire.Refuse(wire.StatusAgain, "the sum of round %v was given up, since a worker that had a part in it is "+
		"lost: worker %d begins again with its first piece", r, worker)
}

// span adds a part of a worker's gradient to the sum of its round, and returns when it is there. The caller holds the
// lock. It waits for the other workers of the round, as a push does. An error of StatusAgain makes the worker begin
// with its first piece; any other ends its push.
func (c *summing) span(f *wire.Frame, dense []float32, from int) error {
	r := mode.Round(f.Round)
	if err := c.st.AwaitRound(r); err != nil {
		return err
	}
	if err := c.roster.Stays(&f.Header); err != nil {
		return err
	}
	w, to := int(f.Worker), from+len(dense)
	switch {
	case c.mode.Open() != r || !slices.Contains(c.mode.Missing(), w):
		return wire.Refuse(wire.StatusStale, "worker %d sent a piece for round %v, and round %v is open", w, r,
			c.mode.Open())
	case from < c.to && slices.Contains(c.workers, w):
		return nil // it came before
	case from != c.to:
		return again(w, r)
	}
	for other, a := range c.waiting {
		if a != nil && other != w && a.to != to {
			return wire.Refuse(wire.StatusRefused, "worker %d sent the dense values %d to %d and worker %d those to "+
				"%d: give all workers the same bound of messages", w, from, to, other, a.to)
		}
	}
	return c.wait(w, &addend{from: from, to: to, dense: dense, samples: int(f.Samples)}, r)
}

// step notes a worker's push, whose dense gradient is in the sum, together with all others' pushes, and returns when
// that is done. The caller holds the lock. The noted push belongs to its round, and waits for its update elsewhere.
func (c *summing) step(f *wire.Frame, p *push) error {
	if p.last != nil {
		if err := c.span(f, p.last, p.from); err != nil {
			return err
		}
	}
	w, n, r := int(f.Worker), c.part.Floats, mode.Round(f.Round)
	if c.to != n || !slices.Contains(c.workers, w) {
		return again(w, r)
	}
	return c.wait(w, &addend{from: n, to: n, samples: int(f.Samples), push: p}, r)
}

// wait waits until a worker's addend is in the sum. The handler that completes a span adds it up for all. The caller
// holds the lock. If its own wait fails while the span is being read, it stays until that is over.
func (c *summing) wait(w int, a *addend, r mode.Round) error {
	if before := c.waiting[w]; before != nil && (before.push == nil) == (a.push == nil) {
		return c.join(before, r) // a repeated request
	}
	c.waiting[w] = a
	var err error
	for err == nil && !a.done {
		err = c.st.AwaitWorkers(c.mode.Missing, func() bool { return a.done || c.complete() },
			func() string { return c.missing(r) })
		if err == nil && !a.done {
			c.advance(r)
		}
	}
	for a.held {
		c.st.Pass()
	}
	if a.done {
		return a.err
	}
	c.end(w, err)
	return err
}

// join makes a repeated request wait for the first one. The caller holds the lock.
func (c *summing) join(a *addend, r mode.Round) error {
	err := c.st.AwaitWorkers(c.mode.Missing, func() bool { return a.done },
		func() string { return c.missing(r) })
	if a.done {
		return a.err
	}
	return err
}

// complete reports whether all workers that the round waits for have sent the next span, or the step. The caller holds
// the lock. A step counts only if no cut holds it: otherwise the round would close after the cut's steps on this server
// alone.
func (c *summing) complete() bool {
	if c.roster.Deciding() {
		return false
	}
	due := c.mode.Missing()
	for _, w := range due {
		a := c.waiting[w]
		if a == nil || a.push != nil && c.st.Holds(w, roster.Step(a.push.life, a.push.seq)) {
			return false
		}
	}
	return len(due) > 0 && !c.adding
}

// missing names the workers that the next span waits for. The caller holds the lock.
func (c *summing) missing(r mode.Round) string {
	missing := slices.DeleteFunc(slices.Clone(c.mode.Missing()), func(w int) bool { return c.waiting[w] != nil })
	return fmt.Sprintf("for the dense values from %d on of round %v", c.to, r) + c.st.Named(missing)
}

// advance adds the complete span, or notes the complete pushes. The caller holds the lock, which is released during the
// addition. If the workers of the round have changed since the sum began, the sum is given up.
func (c *summing) advance(r mode.Round) {
	due := slices.Clone(c.mode.Missing())
	switch {
	case c.workers == nil:
		c.prepare(due)
	case !slices.Equal(due, c.workers):
		c.giveUp(r)
		return
	}
	if c.to == c.part.Floats {
		c.noteAll(r)
	} else {
		c.add(due)
	}
	c.st.Broadcast()
}

// prepare begins a sum of these workers' gradients. The factors follow from the samples in each first piece. The caller
// holds the lock.
func (c *summing) prepare(due []int) {
	var samples []int
	for _, w := range due {
		samples = append(samples, c.waiting[w].samples)
	}
	c.workers, c.factors = due, gradient.Factors(c.factors[:0], c.weighting, samples)
	c.sum = state.Grow(c.sum, c.part.Floats)
}

// add adds the next span up, and lets its senders go on unless the sum was given up meanwhile. The caller holds the
// lock, which is released for the arithmetic alone; the addends are held for that time.
func (c *summing) add(due []int) {
	all, dense := make([]*addend, len(due)), make([][]float32, len(due))
	for i, w := range due {
		all[i] = c.waiting[w]
		all[i].held, dense[i] = true, all[i].dense
	}
	to := all[0].to
	c.adding = true
	c.st.Unlock()
	gradient.FoldDense(c.sum[all[0].from:to], dense, c.factors)
	c.st.Lock()
	c.adding = false
	for _, a := range all {
		a.held = false
	}
	if c.workers == nil {
		return
	}
	c.to = to
	for _, w := range due { // repeated requests since are in the sum too
		c.end(w, nil)
	}
}

// noteAll notes the pushes of all workers, which complete the round. The last note closes the round and applies the
// update. The caller holds the lock, which is released while the update is made.
func (c *summing) noteAll(r mode.Round) {
	var all []*push
	for _, w := range c.workers {
		all = append(all, c.waiting[w].push)
		c.end(w, nil)
	}
	c.workers, c.to = nil, 0
	for _, p := range all {
		p.sum = c.sum // until the update is made; no worker sends for the next round before that
		c.note(p, r)
	}
}

// lost ends a worker's part when its life is over. The caller holds the lock. A sum in which it has no part goes on
// with the others.
func (c *summing) lost(worker int, r mode.Round) {
	c.end(worker, wire.Refuse(wire.StatusStale, "worker %d is out of the job", worker))
	if slices.Contains(c.workers, worker) {
		c.giveUp(r)
	}
}

// giveUp drops the sum. The caller holds the lock. Noted gradients are not affected: a noted sum has begun its update.
func (c *summing) giveUp(r mode.Round) {
	c.workers, c.to = nil, 0
	for w := range c.waiting {
		c.end(w, again(w, r))
	}
	c.st.Broadcast()
}

// end ends a worker's wait, if it waits. Its handler finds done and err when it has the lock next. The caller holds the
// lock and broadcasts.
func (c *summing) end(worker int, err error) {
	if a := c.waiting[worker]; a != nil {
		a.done, a.err = true, err
		c.waiting[worker] = nil
	}
}
