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
// workers of the round have sent theirs, in the order of workers. So a server holds one gradient, and a piece of each
// worker's, however many workers there are.
//
// A piece is answered when its span is in the sum. The step itself, which comes last, waits until all have sent theirs,
// and then all are noted at once: either the round has every gradient of the sum, or none.
//
//	worker 0   ── [0, 2M) ──▶ │ waits              ┌──▶ ok ── [2M, 4M) ──▶ …  ── step ──▶ │ waits           ┌──▶ answer
//	worker 1   ───────── [0, 2M) ──▶ │ added up ───┴──▶ ok ── [2M, 4M) ──▶ …      ── step ──▶ │ noted, applied ┴──▶ answer
//
// When a worker is lost that has a part in the sum, its part can't be taken out again: the sum is given up, and the
// others, which have their gradients still, are told to begin again with their first piece (wire.StatusAgain).
type summing struct {
	st        *state.Job
	mode      mode.Server
	roster    *roster.Roster
	part      *state.Part
	weighting strategy.Weighting
	// on says that no worker's gradient fits into a frame; else pieces are kept until the last has come.
	on   bool
	note func(*push, mode.Round) // that a push is in the round

	// What follows is guarded by the server's lock; of the sum, only which span is being added. sum has this server's
	// dense values, and is used again for each round.
	sum     []float32
	to      int       // it is whole up to there
	workers []int     // whose gradients it has; nil at the start
	factors []float32 // theirs
	// adding says that a span is being added without the lock: no other begins.
	adding  bool
	waiting []*addend // by worker: what its handler waits with
}

// addend is what a worker has sent of its gradient and waits with: a span, or when all are in the sum, the step. It is
// its handler's, which waits until done is set or its own wait fails.
type addend struct {
	from, to int
	dense    []float32 // in the frame, which lives as long as its handler waits
	samples  int
	push     *push // of the step
	// held keeps the handler, and with it the frame's memory, until the span is added.
	held bool // being read
	done bool // with err
	err  error
}

// It is on in modes with rounds, where the dense gradient does not fit into a frame of MaxFrame and comes as float32;
// note is [rounds.push].
func newSumming(st *state.Job, p *state.Part, s strategy.Strategy, rounds bool, note func(*push, mode.Round)) *summing {
	large := wire.Float32.DenseSize(p.Floats) > s.MaxFrame-wire.FrameOverhead
	return &summing{st: st, roster: st.Roster, mode: st.Mode, part: p, weighting: s.Weighting, on: rounds && large &&
		s.Payload == strategy.PayloadFloat32,
		note: note, waiting: make([]*addend, st.Roster.Workers())}
}

// again tells a worker to send its gradient from its first piece on.
func again(worker int, r mode.Round) error {
	return wire.Refuse(wire.StatusAgain, "the sum of round %v was given up, since a worker that had a part in it is "+
		"lost: worker %d begins again with its first piece", r, worker)
}

// span adds a part of a worker's gradient to the sum of its round, and returns when it is there. Locked. An error of
// StatusAgain has the worker begin with its first piece; another ends its push. It waits for the other workers of the
// round, as a push does.
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

// step has a worker's push, whose dense gradient is in the sum, noted with all others' pushes, and returns when it is.
// Locked. From when it is noted the push is one of its round, and waits for its update elsewhere.
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

// wait waits with what a worker has sent until it is in the sum. The push that completes a span adds it up for all.
// Locked. When its own wait fails while the span is read, it stays until that is over.
func (c *summing) wait(w int, a *addend, r mode.Round) error {
	if before := c.waiting[w]; before != nil && (before.push == nil) == (a.push == nil) {
		return c.join(before, r) // it came twice
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

// join waits for what has come of an addend. Locked.
func (c *summing) join(a *addend, r mode.Round) error {
	err := c.st.AwaitWorkers(c.mode.Missing, func() bool { return a.done },
		func() string { return c.missing(r) })
	if a.done {
		return a.err
	}
	return err
}

// complete says whether all workers that the round waits for have sent the next span, or the step. Locked. A step
// counts only when no cut holds it: else the round would close behind the cut's steps on this server alone.
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

// missing describes whom the next span waits for. Locked.
func (c *summing) missing(r mode.Round) string {
	text := fmt.Sprintf("for the dense values from %d on of round %v", c.to, r)
	for _, w := range c.mode.Missing() {
		if c.waiting[w] == nil {
			text += fmt.Sprintf("; missing %s", c.roster.Describe(w, c.st.Now()))
		}
	}
	return text
}

// advance does what all wait for. Locked, but not while it adds. The workers of the round are asked for anew: where
// they are others than when the sum began, it is given up.
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

// prepare begins a sum of these workers' gradients. The factors follow from the samples that each first piece says.
// Locked.
func (c *summing) prepare(due []int) {
	var samples []int
	for _, w := range due {
		samples = append(samples, c.waiting[w].samples)
	}
	c.workers, c.factors = due, gradient.Factors(c.factors[:0], c.weighting, samples)
	c.sum = state.Grow(c.sum, c.part.Floats)
}

// add adds the next span up, and lets its senders go on unless the sum was given up meanwhile. Locked, but not while it
// adds. The lock is given up for the arithmetic alone, and the addends are held for that time.
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
	for _, w := range due { // what came again meanwhile is in the sum too
		c.end(w, nil)
	}
}

// noteAll has the pushes of all workers noted, which the round is complete with. The last note closes the round and
// applies the update. Locked, but given up while that is made.
func (c *summing) noteAll(r mode.Round) {
	var all []*push
	for _, w := range c.workers {
		all = append(all, c.waiting[w].push)
		c.end(w, nil)
	}
	c.workers, c.to = nil, 0
	for _, p := range all {
		p.sum = c.sum // until the update is made; no worker sends of the next round before
		c.note(p, r)
	}
}

// lost takes note that a life of a worker is over. Locked. A sum in which it has no part goes on with the others.
func (c *summing) lost(worker int, r mode.Round) {
	c.end(worker, wire.Refuse(wire.StatusStale, "worker %d is out of the job", worker))
	if slices.Contains(c.workers, worker) {
		c.giveUp(r)
	}
}

// giveUp forgets the sum. Locked. Gradients that are noted already are not concerned: a sum that is noted has begun its
// update.
func (c *summing) giveUp(r mode.Round) {
	c.workers, c.to = nil, 0
	for w := range c.waiting {
		c.end(w, again(w, r))
	}
	c.st.Broadcast()
}

// end ends a worker's wait, if it waits. Its handler finds done with err when it has the lock next. Locked, and the
// caller broadcasts.
func (c *summing) end(worker int, err error) {
	if a := c.waiting[worker]; a != nil {
		a.done, a.err = true, err
		c.waiting[worker] = nil
	}
}
