package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/wire"
)

// deaths looks for silent workers. Server 0 decides that a worker is dead and takes it out on all servers, as package
// roster draws it; each server by itself gives up when the workers it waits for never come, or when all have fallen
// silent.
//
// One goroutine handles one death after the other. A death takes two requests to each server, one server after the
// other; rounds go on when the last of the dead is out. Nothing runs between two looks. A worker that has announced its
// end is taken out in the same way, only sooner.
type deaths struct {
	st   *state.Job
	hope *roster.Hope
	// peers send the orders of a death, from the goroutine of watch alone.
	peers      *state.Peers
	leading    *leading
	membership *membership
	// lines are the connections of workers, whose end shows the death of a process sooner than its silence.
	lines *lines
	// rounds know whether the dead worker has a gradient in the open round, and rates which factor it may have set here
	// alone.
	rounds   *rounds
	rates    *rates
	clipping *clipping
	fences   state.Event[wire.Leave]
	drops    state.Event[wire.Leave]
	// torn concerns the last gradient of a dead worker: rounds may have it in the weights of one server and not of
	// another.
	torn bool          // the mode has rounds
	back bool          // no worker goes on without the others
	pace time.Duration // interval of looks
	log  *slog.Logger
}

// register makes it survive a kill that a worker was fenced off, and that it was taken out.
func (c *deaths) register(m *state.Memory) {
	c.fences = state.AddEvent(m, "fence", func(l wire.Leave) { c.st.Roster.Fence(l.Worker, l.Life, l.Why) })
	c.drops = state.AddEvent(m, "drop", c.takeOut)
}

// watch looks for silent workers until ctx ends. It also ends waits that have become hopeless. Servers other than
// server 0 declare no death: they receive orders.
func (c *deaths) watch(ctx context.Context) {
	tick := time.NewTicker(c.pace)
	defer tick.Stop()
	started := c.st.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-c.membership.ended:
		}
		if c.peers.Index == 0 {
			for _, d := range c.silent() {
				c.declare(ctx, d)
			}
			c.clipping.expire()
		}
		c.giveUp(started)
	}
}

// silent returns the deaths that begin, each once. They include processes whose connections the system has closed.
func (c *deaths) silent() []*roster.Death {
	c.st.Lock()
	defer c.st.Unlock()
	now := c.st.Now()
	c.lines.ended(now, c.membership.over)
	return c.st.Roster.Silent(now)
}

// giveUp fails the job if no worker is left to wait for. Every server calls it at each tick. started is when this
// server's watch began.
func (c *deaths) giveUp(started time.Time) {
	c.st.Lock()
	defer c.st.Unlock()
	if who := c.hope.Missing(started, c.st.Now()); who != "" {
		c.log.Warn("workers are missing, still waiting", "workers", who,
			"waited", c.st.Now().Sub(started).Round(time.Second))
	}
	if err := c.hope.Hopeless(started, c.st.Now()); err != nil {
		c.st.Fail(err)
	}
	deserted := c.hope.Desert(c.st.Now())
	if deserted || c.st.Returned {
		c.st.Broadcast() // a cut does not wait for a silent worker
	}
}

// declare takes a worker out of the job on all servers. Its gradient for the open round counts only if every server has
// it. There are two passes over all servers; server 0 is first in the first pass and last in the second. The first pass
// fences the worker off: nothing of its life counts any more, and the answers report which servers have its gradient.
// The second takes it out, with or without that gradient. In a mode that goes back, declare ends the job instead. It
// returns when all servers have answered or were given up.
func (c *deaths) declare(ctx context.Context, d *roster.Death) {
	c.log.Error("worker is dead", "worker", d.Worker, "silent", d.Silent.Round(time.Millisecond), "why", d.Why)
	if c.back {
		c.st.Lock()
		defer c.st.Unlock()
		c.st.Fail(wire.Refuse(wire.StatusBack,
			"worker %d has ended (%s): start the job again from its last checkpoint", d.Worker, d.Why))
		return
	}
	if err := c.leading.dying(d.Worker); err != nil { // the job has failed, as other messages say
		return
	}
	defer c.leading.died()
	order := wire.Leave{Worker: d.Worker, Life: d.Life, Why: d.Why}
	published := c.fenceAll(ctx, d, order)
	if ctx.Err() != nil { // this server ends: the process that takes its place begins again
		return
	}
	if d.Worker == 0 && !published { // no other worker has the first weights, for which all wait
		c.st.Lock()
		defer c.st.Unlock()
		c.st.Fail(wire.Refuse(wire.StatusBack,
			"worker 0 has ended (%s) before it published the first weights: start the job again", d.Why))
		return
	}
	order.Forget, order.Returns = d.Forget(), d.Returns
	order.Rate, order.RateRound = c.rates.latest() // the worker may have set it on this server alone
	c.dropAll(ctx, d, order)
}

// fenceAll is the first pass. published reports whether all servers that answered have their first weights.
func (c *deaths) fenceAll(ctx context.Context, d *roster.Death, order wire.Leave) (published bool) {
	published = true
	fenced := func(a wire.Fenced) {
		d.Fenced(mode.Round(a.Round), a.Pushed)
		published = published && a.Published
	}
	fenced(c.fenceOff(order))
	c.peers.Others(func(to int) {
		var a wire.Fenced
		if err := c.peers.Tell(ctx, to, wire.OpFence, order, &a); err != nil {
			c.log.Warn("could not notify a server of a worker's death", "server", to, "error", err)
			return
		}
		fenced(a)
	})
	return published
}

// dropAll is the second pass. It ends early if another life has begun, or this server ends.
func (c *deaths) dropAll(ctx context.Context, d *roster.Death, order wire.Leave) {
	c.peers.Others(func(to int) {
		if !c.dying(d) {
			return
		}
		var a wire.Dropped
		if err := c.peers.Tell(ctx, to, wire.OpDrop, order, &a); err != nil {
			c.log.Warn("could not take a dead worker out of a server's rounds", "server", to, "error", err)
			return
		}
		d.Dropped(to, mode.Round(a.Counts))
	})
	if ctx.Err() != nil || !c.dying(d) {
		// a server that has no order would wait for the dead worker: server 0 must not take it out then
		return
	}
	d.Dropped(0, mode.Round(c.dropOff(order).Counts))
	if round, with, without := d.Torn(len(c.peers.Endpoints)); len(without) > 0 && c.torn {
		c.log.Warn("the last gradient of a dead worker is in the weights of some servers and not of others",
			"worker", d.Worker, "round", round, "with", with, "without", without)
	}
}

// dying reports whether the dead worker's place is still empty: the wait for a server that is away may have taken
// minutes. If another life has begun meanwhile, the order ends: it would take out the new life.
func (c *deaths) dying(d *roster.Death) bool {
	c.st.Lock()
	defer c.st.Unlock()
	return c.st.Roster.Dying(d.Worker, d.Life)
}

// fenceOff refuses everything that a dead worker's life may still send, and returns how far it came. Repeating it has
// no further effect, and returns the same as long as no round closes.
func (c *deaths) fenceOff(l wire.Leave) wire.Fenced {
	c.st.Lock()
	defer c.st.Unlock()
	c.fences.Note(l)
	c.st.Roster.Fence(l.Worker, l.Life, l.Why)
	return wire.Fenced{Published: c.st.Published, Round: uint64(c.st.Mode.Open()),
		Pushed: c.rounds.noted[l.Worker] != nil}
}

// dropOff takes a dead worker out, and returns up to which round its gradients count. Server 0 compares the servers'
// answers, and logs a gradient that only some of them have.
func (c *deaths) dropOff(l wire.Leave) wire.Dropped {
	c.st.Lock()
	defer c.st.Unlock()
	c.drops.Note(l)
	c.takeOut(l)
	return wire.Dropped{Counts: uint64(c.rounds.counted(l.Worker))}
}

// takeOut executes an order to take a worker out. The caller holds the lock. A factor that comes with the order is set
// first: the round that goes on may need it.
func (c *deaths) takeOut(l wire.Leave) {
	if l.Rate > 0 {
		c.rates.set(mode.Round(l.RateRound), l.Rate)
	}
	c.st.Roster.Fence(l.Worker, l.Life, l.Why) // the fence may not have arrived
	if c.st.Roster.Drop(l.Worker, l.Life, l.Returns) {
		c.membership.depart(l.Worker, l.Forget)
	}
}

// fence and drop execute server 0's orders on the other servers. Both answer a repeated order as the first time, since
// server 0 repeats it until it has an answer.
func (c *deaths) fence(_ *wire.Frame, l *wire.Leave, r *state.Reply) error {
	if err := c.check(l); err != nil {
		return err
	}
	return r.JSON(c.fenceOff(*l))
}

// drop is the second order. Each server logs it.
func (c *deaths) drop(_ *wire.Frame, l *wire.Leave, r *state.Reply) error {
	if err := c.check(l); err != nil {
		return err
	}
	c.log.Error("worker is dead", "worker", l.Worker)
	return r.JSON(c.dropOff(*l))
}

// check refuses an order about a worker that the job does not have.
func (c *deaths) check(l *wire.Leave) error {
	if n := c.st.Roster.Workers(); l.Worker < 0 || l.Worker >= n {
		return wire.Refuse(wire.StatusRefused, "worker %d: the job has %d workers", l.Worker, n)
	}
	return nil
}
