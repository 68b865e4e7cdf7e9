package server

import (
	"context"
	"errors"
	"strconv"
	"sync"

	"github.com/gofleet/gofleet/internal/count"
	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/update"
	"github.com/gofleet/gofleet/internal/wire"
)

// rounds passes pushes, parks and leaves to the mode, and makes the updates that the mode decides on. In modes without
// rounds each push is an update at once; the way is the same.
//
// A gradient is noted from its push until an update takes it. Updates are taken under the lock, in the mode's order,
// each with the next step of the tables; they are applied without the lock, since that takes long, and several may be
// under way. Only then the pushes count in their workers' windows, and their handlers answer.
type rounds struct {
	*recording
	mode     mode.Server
	clipping *clipping
	noted    []*push // by worker: its gradient for the open round, until an update takes it
	// closings is the memory of updates.
	closings sync.Pool
	// waiting are the updates that wait for other servers. Run waits for them after the listener is closed.
	waiting sync.WaitGroup
}

// newRounds has no gradient noted. register sets its records.
func newRounds(st *state.Job, p *state.Part, rates *rates, c *clipping, j *state.Journal) *rounds {
	workers := st.Roster.Workers()
	return &rounds{mode: st.Mode, clipping: c, noted: make([]*push, workers),
		recording: &recording{st: st, part: p, rates: rates, journal: j,
			counts: make([]mode.Round, workers)},
		closings: sync.Pool{New: func() any { return new(closing) }}}
}

// push notes a gradient for a round, and makes the update if the round is then complete. The caller holds the lock. p
// and the frame that it aliases must live until the request is done. If the mode refuses the push, since its round is
// over, its sequence number stays free.
func (c *rounds) push(p *push, r mode.Round) {
	c.noted[p.worker] = p
	apply, err := c.mode.Push(p.worker, r)
	if err != nil {
		c.noted[p.worker] = nil
		c.st.Roster.Window(p.worker).Withdraw(p.request, wire.Refuse(wire.StatusStale, "%v", err))
		return
	}
	if len(apply) > 0 { // a gradient that is only noted wakes no worker
		c.close(apply)
	}
}

// park notes that a worker has no more batches in a round's phase. The caller holds the lock. It is recorded before it
// counts, without releasing the lock.
func (c *rounds) park(worker int, life uint32, r mode.Round, as *roster.Request) error {
	apply, err := c.mode.Park(worker, r)
	if err != nil {
		return wire.Refuse(wire.StatusStale, "%v", err)
	}
	c.parks.Note(parkRecord{as.Counted(worker, life), uint64(r)})
	as.Apply(0, 0, 0) // before others are woken: a cut may wait for it
	c.st.Roster.Window(worker).Accept(as)
	c.close(apply)
	return nil
}

// leave lets rounds go on without a worker. With forget, its noted gradient for the open round is dropped; otherwise
// that gradient is in the update that the others complete. The caller holds the lock.
func (c *rounds) leave(worker int, forget bool) {
	if p := c.noted[worker]; forget && p != nil {
		p.request.Refuse(wire.Refuse(wire.StatusStale, "worker %d was out of the job before its round closed", worker))
		c.noted[worker] = nil
	}
	c.close(c.mode.Leave(worker, forget))
}

// reset drops the state of a worker's earlier lives. The caller holds the lock.
func (c *rounds) reset(worker int) { c.noted[worker], c.counts[worker] = nil, 0 }

// counted is the first round without a gradient of a worker: a noted gradient will count when the others have pushed.
// The caller holds the lock.
func (c *rounds) counted(worker int) mode.Round {
	if c.noted[worker] != nil {
		return c.mode.Open() + 1
	}
	return c.counts[worker]
}

// closing is an update of noted gradients, from when they are taken until they are in the tables. Its memory is reused.
// The update and its record are made from it without the lock: no other goroutine uses it meanwhile.
type closing struct {
	// what is passed to the tables; pushes are the same gradients with their requests.
	what    update.Update
	round   mode.Round // the round that it closes, in modes with rounds
	workers []int
	pushes  []*push
}

// close makes one update of the noted gradients of workers; without workers there is none. The caller holds the lock,
// which is released while the tables work, so that the caller checks again what it knew before. An update that has to
// wait for other servers is made on a goroutine of its own: then server 0, for instance, can go on to the other servers
// when it takes a dead worker out.
func (c *rounds) close(workers []int) {
	switch {
	case len(workers) == 0:
	case c.clipping.needsPeers():
		u := c.take(workers)
		c.waiting.Go(func() {
			c.st.Lock()
			defer c.st.Unlock()
			c.apply(u)
			c.st.Broadcast()
		})
	default:
		c.apply(c.take(workers))
	}
	c.st.Broadcast()
}

// take makes the noted gradients of workers an update that is about to be applied. The caller holds the lock. A rate
// that was set for this round counts from here on, for this update and later ones.
func (c *rounds) take(workers []int) *closing {
	round := c.mode.Open() - 1
	c.rates.apply(round)
	u := c.closings.Get().(*closing)
	u.what.Step, u.round = c.part.Store.Advance(), round
	u.workers = append(u.workers[:0], workers...) // the mode reuses its slice
	u.what.Pushes, u.pushes = u.what.Pushes[:0], u.pushes[:0]
	for _, w := range workers {
		p := c.noted[w]
		u.what.Pushes, u.pushes, u.what.Dense = append(u.what.Pushes, &p.grad), append(u.pushes, p), p.sum
		c.noted[w], c.counts[w] = nil, round+1
	}
	if c.clipping.needsPeers() {
		u.what.Sum = func(own []gradient.Squares) ([]gradient.Squares, error) { return c.clipping.sum(round, own) }
	}
	if u.what.Label = nil; count.Profiling() {
		u.what.Label = labelled(u.workers)
	}
	if c.journal.On() {
		u.what.Record = func(a update.Applied) error { return c.record(u.round, u.pushes, a) }
	}
	c.st.Applying++
	return u
}

// labelled labels an update in a profile, with the worker if it is of one worker's gradient.
func labelled(workers []int) func(table string) {
	labels := []string{"op", "update"}
	if len(workers) == 1 {
		labels = append(labels, "worker", strconv.Itoa(workers[0]))
	}
	return func(table string) {
		with := labels
		if table != "" {
			with = append(labels[:len(labels):len(labels)], "table", table)
		}
		count.Label(context.Background(), with...)
	}
}

// apply applies an update, and makes its pushes count. The caller holds the lock, which is released while the tables
// work.
//
// The step is finished in the tables before the mode is informed that the update is applied: from then on a pull of the
// next round is let in, and rows are brought up to the last finished step. An error fails the job, since a part of the
// update may be in the tables, and no server could find out which. The handlers of its pushes go on when the caller
// broadcasts.
func (c *rounds) apply(u *closing) {
	st := c.st
	st.Unlock()
	dropped, err := c.part.Updates.Apply(&u.what)
	st.Lock()
	st.Applying--
	if err != nil && c.journal.On() && st.IsClosing() {
		return // the pushes have no answer, and are sent again to the process that comes back
	}
	before := c.part.Updates.Changed()
	st.Mode.Applied(u.workers)
	for _, p := range u.pushes {
		p.request.Apply(p.count(), dropped, before)
		st.Roster.Applied(p.worker, p.life, p.seq)
	}
	if err != nil {
		failed := wire.Refuse(wire.StatusFailed, "server %d: update %d: %v", c.part.Index, u.what.Step, err)
		if refusal, back := errors.AsType[*wire.Refusal](err); back && refusal.Status == wire.StatusBack {
			failed = refusal
		}
		st.Fail(state.StillAbout(err, failed))
	}
	clear(u.pushes) // frees the workers' requests
	clear(u.what.Pushes)
	c.closings.Put(u)
}
