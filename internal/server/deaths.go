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

// deaths looks for silence. Server 0 decides that a worker is dead and takes it out on all servers, as package roster
// draws it; each server by itself gives up when the workers it waits for never come, or when all have fallen silent.
//
// One goroutine does all of it, one death after the other. A death takes as long as all servers need, one after the
// other, to answer twice; rounds go on when the last of the dead is out. Between two looks nothing of it runs. A worker
// that has said that it ends is taken out the same way, only sooner.
type deaths struct {
	st     *state.Job
	roster *roster.Roster
	hope   *roster.Hope
	// peers are told of a death by the goroutine of watch alone.
	peers      *state.Peers
	leading    *leading
	membership *membership
	// lines have the connections of workers, by which the death of a process is known sooner than by its silence.
	lines *lines
	// rounds say whether the dead has a gradient in the open round, and rates which factor it may have set alone.
	rounds   *rounds
	rates    *rates
	clipping *clipping
	fences   state.Event[wire.Leave]
	drops    state.Event[wire.Leave]
	// torn is about the last gradient of the dead: rounds may have it in one server's weights and not in another's.
	torn bool          // the mode has rounds, which a death can tear
	back bool          // no worker goes on without the others
	pace time.Duration // of looks
	log  *slog.Logger
}

// register has outlive a kill that a worker was fenced off, and that it was taken out.
func (c *deaths) register(m *state.Memory) {
	c.fences = state.AddEvent(m, "fence", func(l wire.Leave) { c.roster.Fence(l.Worker, l.Life, l.Why) })
	c.drops = state.AddEvent(m, "drop", c.takeOut)
}

// watch looks for silence until ctx ends. It also ends waits that have become hopeless. On other servers than the first
// it declares no death: these come as orders.
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

// silent are the deaths that begin. Each is returned once. They include the deaths of processes whose connections the
// system has ended.
func (c *deaths) silent() []*roster.Death {
	c.st.Lock()
	defer c.st.Unlock()
	now := c.st.Now()
	c.lines.ended(now, c.membership.over)
	return c.roster.Silent(now)
}

// giveUp fails the job when there is no worker left to wait for. It is called at each tick on every server. started is
// when this server's watch began.
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
		c.st.Broadcast() // a cut waits for no worker that is silent
	}
}

// declare takes a worker out of the job on all servers. Its gradient for the open round counts only if every server has
// it. It goes in two passes over all servers, server 0 first in one and last in the other. The first fences the worker
// off: nothing of its life counts any more, and the answers say which servers have its gradient. The second takes it
// out, with or without that gradient. In a mode that goes back it ends the job instead. It returns when all servers
// have answered or were given up.
func (c *deaths) declare(ctx context.Context, d *roster.Death) {
	c.log.Error("worker is dead", "worker", d.Worker, "silent", d.Silent.Round(time.Millisecond), "why", d.Why)
	if c.back {
		c.st.Lock()
		defer c.st.Unlock()
		c.st.Fail(wire.Refuse(wire.StatusBack,
			"worker %d has ended (%s): start the job again from its last checkpoint", d.Worker, d.Why))
		return
	}
	if err := c.leading.dying(d.Worker); err != nil { // as other messages say
		return
	}
	defer c.leading.died()
	order := wire.Leave{Worker: d.Worker, Life: d.Life, Why: d.Why}
	published := c.fenceAll(ctx, d, order)
	if ctx.Err() != nil { // this server ends: who takes its place begins again
		return
	}
	if d.Worker == 0 && !published { // no other has the first weights, for which all wait
		c.st.Lock()
		defer c.st.Unlock()
		c.st.Fail(wire.Refuse(wire.StatusBack,
			"worker 0 has ended (%s) before it published the first weights: start the job again", d.Why))
		return
	}
	order.Forget, order.Returns = d.Forget(), d.Returns
	order.Rate, order.RateRound = c.rates.latest() // the worker may have set it, and told this server alone
	c.dropAll(ctx, d, order)
}

// fenceAll is the first pass. published says that all servers that answered have their first weights.
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

// dropAll is the second pass. It ends early where another life has begun, or this server ends.
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
		// a server that was not told would wait for the dead: this one must not know that it is
		return
	}
	d.Dropped(0, mode.Round(c.dropOff(order).Counts))
	if round, with, without := d.Torn(len(c.peers.Endpoints)); len(without) > 0 && c.torn {
		c.log.Warn("the last gradient of a dead worker is in the weights of some servers and not of others",
			"worker", d.Worker, "round", round, "with", with, "without", without)
	}
}

// dying reports whether the dead worker's place is still empty: a server that is away may have been waited for, for
// minutes. Another life that has begun meanwhile ends the order: it would be taken out in the place of the dead one.
func (c *deaths) dying(d *roster.Death) bool {
	c.st.Lock()
	defer c.st.Unlock()
	return c.roster.Dying(d.Worker, d.Life)
}

// fenceOff refuses all that a dead worker's life may still send, and says how far it came. Twice it has the same
// effect, and the same answer as long as no round closes.
func (c *deaths) fenceOff(l wire.Leave) wire.Fenced {
	c.st.Lock()
	defer c.st.Unlock()
	c.fences.Note(l)
	c.roster.Fence(l.Worker, l.Life, l.Why)
	return wire.Fenced{Published: c.st.Published, Round: uint64(c.st.Mode.Open()),
		Pushed: c.rounds.noted[l.Worker] != nil}
}

// dropOff takes a dead worker out, and says up to where its gradients count. Server 0 compares what servers answer, and
// its log names a gradient that only some have.
func (c *deaths) dropOff(l wire.Leave) wire.Dropped {
	c.st.Lock()
	defer c.st.Unlock()
	c.drops.Note(l)
	c.takeOut(l)
	return wire.Dropped{Counts: uint64(c.rounds.counted(l.Worker))}
}

// takeOut does what an order says. Locked. A factor that comes with the order is set first: the round that goes on may
// need it.
func (c *deaths) takeOut(l wire.Leave) {
	if l.Rate > 0 {
		c.rates.set(mode.Round(l.RateRound), l.Rate)
	}
	c.roster.Fence(l.Worker, l.Life, l.Why) // which may not have arrived
	if c.roster.Drop(l.Worker, l.Life, l.Returns) {
		c.membership.depart(l.Worker, l.Forget)
	}
}

// fence and drop are server 0's orders on the other servers. Both answer a repeated order as the first time, since
// server 0 repeats until it has an answer.
func (c *deaths) fence(_ *wire.Frame, l *wire.Leave, r *state.Reply) error {
	if err := c.check(l); err != nil {
		return err
	}
	return r.JSON(c.fenceOff(*l))
}

// drop is the second of them. Its log line is on every server.
func (c *deaths) drop(_ *wire.Frame, l *wire.Leave, r *state.Reply) error {
	if err := c.check(l); err != nil {
		return err
	}
	c.log.Error("worker is dead", "worker", l.Worker)
	return r.JSON(c.dropOff(*l))
}

// check refuses an order about a worker that the job does not have.
func (c *deaths) check(l *wire.Leave) error {
	if n := c.roster.Workers(); l.Worker < 0 || l.Worker >= n {
		return wire.Refuse(wire.StatusRefused, "worker %d: the job has %d workers", l.Worker, n)
	}
	return nil
}
