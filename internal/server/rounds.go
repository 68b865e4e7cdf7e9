package server

import (
	"context"
	"strconv"
	"sync"

	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/profiled"
	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/update"
	"github.com/gofleet/gofleet/internal/wire"
)

// rounds gives what workers push, and that they park or leave, to the mode, and makes the updates that it decides on.
// In modes without rounds each push is an update at once; the way is the same.
//
// A gradient is noted from its push until an update takes it. Updates are taken under the lock, in the mode's order,
// each with the next step of the tables; they are applied without the lock, since that takes long, and several may be
// under way. Only then the pushes count in their workers' windows, and their handlers answer.
type rounds struct {
	st       *state.Job
	mode     mode.Server
	roster   *roster.Roster
	part     *state.Part
	store    *table.Store // part's
	rates    *rates
	clipping *clipping
	journal  *state.Journal
	// parks and updates are the records, of what play makes again.
	parks   state.Event[parkRecord]
	updates state.Record
	noted   []*push      // by worker: its gradient for the open round, until an update takes it
	counts  []mode.Round // by worker: the round after the last whose update had a gradient of it; in modes with rounds
	// closings are the memory of updates.
	closings sync.Pool
	// waiting are the updates that wait for other servers. Run waits for them behind the close of the listener.
	waiting sync.WaitGroup
}

// newRounds has no gradient noted. register gives it its records.
func newRounds(st *state.Job, p *state.Part, rates *rates, c *clipping, j *state.Journal) *rounds {
	return &rounds{st: st, roster: st.Roster, mode: st.Mode, part: p, store: p.Store, rates: rates, clipping: c,
		journal: j, noted: make([]*push, st.Roster.Workers()), counts: make([]mode.Round, st.Roster.Workers()),
		closings: sync.Pool{New: func() any { return new(closing) }}}
}

// push notes a gradient for a round, and makes the update that it completes. Locked. p and the frame that it aliases
// must live until the request is done. A push that the mode refuses, since its round is over, leaves the sequence
// number free.
func (c *rounds) push(p *push, r mode.Round) {
	c.noted[p.worker] = p
	apply, err := c.mode.Push(p.worker, r)
	if err != nil {
		c.noted[p.worker] = nil
		c.roster.Window(p.worker).Withdraw(p.request, wire.Refuse(wire.StatusStale, "%v", err))
		return
	}
	if len(apply) > 0 { // a gradient that is only noted lets no worker go on
		c.close(apply)
	}
}

// park notes that a worker has no more batches in a round's phase. Locked. It is recorded before it counts, in the same
// hold of the lock.
func (c *rounds) park(worker int, life uint32, r mode.Round, as *roster.Request) error {
	apply, err := c.mode.Park(worker, r)
	if err != nil {
		return wire.Refuse(wire.StatusStale, "%v", err)
	}
	c.parks.Note(parkRecord{counting{worker, life, as.Saved()}, uint64(r)})
	as.Apply(0, 0, 0) // before others are woken: a cut may wait for it
	c.roster.Window(worker).Accept(as)
	c.close(apply)
	return nil
}

// leave lets rounds go on without a worker. With forget, its gradient for the open round does not count. Locked.
// Without forget a noted gradient stays, and is in the update that the others complete.
func (c *rounds) leave(worker int, forget bool) {
	if p := c.noted[worker]; forget && p != nil {
		p.request.Refuse(wire.Refuse(wire.StatusStale, "worker %d was out of the job before its round closed", worker))
		c.noted[worker] = nil
	}
	c.close(c.mode.Leave(worker, forget))
}

// reset forgets what the lives of a worker before have done. Locked.
func (c *rounds) reset(worker int) { c.noted[worker], c.counts[worker] = nil, 0 }

// counted is the first round without a gradient of a worker: one that is noted counts when the others have pushed.
// Locked.
func (c *rounds) counted(worker int) mode.Round {
	if c.noted[worker] != nil {
		return c.mode.Open() + 1
	}
	return c.counts[worker]
}

// closing is an update of noted gradients, from when they are taken until they are in the tables. Its memory is used
// again. The update and its record are made from it, without the lock: nothing else has it meanwhile.
type closing struct {
	// what is given to the tables, and pushes are the same ones for the windows of their workers.
	what    update.Update
	round   mode.Round // that it closes; in modes with rounds
	workers []int
	pushes  []*push
}

// close makes one update of the noted gradients of workers; none is no update. Locked, but not while the tables work.
// An update that has to wait for other servers is made beside, so that who closes a round here, such as server 0 when
// it takes a dead worker out everywhere, can go on to the others. An update that is made at once gives the lock up
// while it is applied: a caller looks again at what it knew before.
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

// take makes the noted gradients of workers an update that is about to be applied. Locked. The rates that were to come
// with this round count from here on, for this update and those behind.
func (c *rounds) take(workers []int) *closing {
	round := c.mode.Open() - 1
	c.rates.apply(round)
	u := c.closings.Get().(*closing)
	u.what.Step, u.round = c.store.Advance(), round
	u.workers = append(u.workers[:0], workers...) // the mode's own change with the next message
	u.what.Pushes, u.pushes = u.what.Pushes[:0], u.pushes[:0]
	for _, w := range workers {
		p := c.noted[w]
		u.what.Pushes, u.pushes, u.what.Dense = append(u.what.Pushes, &p.grad), append(u.pushes, p), p.sum
		c.noted[w], c.counts[w] = nil, round+1
	}
	if c.clipping.needsPeers() {
		u.what.Sum = func(own []gradient.Squares) ([]gradient.Squares, error) { return c.clipping.sum(round, own) }
	}
	if u.what.Label = nil; profiled.On() {
		u.what.Label = labelled(u.workers)
	}
	if c.journal.On() {
		u.what.Record = func(a update.Applied) error { return c.record(u, a) }
	}
	c.st.Applying++
	return u
}

// labelled has a profile say for whom an update is made, if it is of one worker's gradient.
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
		profiled.Set(context.Background(), with...)
	}
}

// apply applies an update, and lets its pushes count. Locked, but not while the tables work.
//
// The tables are told that the step has finished before the mode is told that the update is applied: from then on a
// pull of the next round is let in, and rows are brought up to the last finished step. An error fails the job, since a
// part of the update may be in the tables, and no server could say which. The handlers of its pushes go on when the
// caller broadcasts.
func (c *rounds) apply(u *closing) {
	st := c.st
	st.Unlock()
	dropped, err := c.part.Updates.Apply(&u.what)
	st.Lock()
	st.Applying--
	if err != nil && c.journal.On() && st.IsClosing() {
		return // the pushes have no answer, and come again to the process that comes back
	}
	before := c.part.Updates.Changed()
	st.Mode.Applied(u.workers)
	for _, p := range u.pushes {
		p.request.Apply(p.count(), dropped, before)
		st.Roster.Applied(p.worker, p.life, p.seq)
	}
	if refusal, back := refusalOf(err); back && refusal.Status == wire.StatusBack {
		st.Fail(state.StillAbout(err, refusal))
	} else if err != nil {
		failed := wire.Refuse(wire.StatusFailed, "server %d: update %d: %v", c.part.Index, u.what.Step, err)
		st.Fail(state.StillAbout(err, failed))
	}
	clear(u.pushes) // their workers' requests go
	clear(u.what.Pushes)
	c.closings.Put(u)
}
