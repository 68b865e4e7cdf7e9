package session

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/gofleet/gofleet/internal/exchange"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// due begins an exchange when its time has come, beside training. If the last one is not over, the training loop waits.
// A failed exchange is the error of the next step.
func (g *geo) due(ctx context.Context) error {
	if due, err := g.isDue(); !due || err != nil {
		return err
	}
	if err := g.enter(ctx); err != nil {
		return err
	}
	if due, err := g.isDue(); !due || err != nil { // another thread's exchange has taken these steps
		g.leave()
		return err
	}
	g.take(g.w.Workers)
	g.sending.Go(func() {
		defer g.leave()
		_ = g.fail(g.send(g.w.Context)) // the next step tells
	})
	return ctx.Err()
}

// The steps of all threads together count.
func (g *geo) isDue() (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.steps >= g.w.Strategy.KSteps, g.err
}

// settle sends all that is left, whole, and takes over what came back. Other threads may train beside it; what they
// change behind the take is left.
func (g *geo) settle(ctx context.Context) error {
	if err := g.enter(ctx); err != nil {
		return err
	}
	g.mu.Lock()
	err, settled := g.err, g.settled
	g.mu.Unlock()
	if err != nil || settled || g.w.Strategy.GeoRest == strategy.GeoRestKeep {
		g.leave()
		return err
	}
	g.take(1)
	return g.finish(ctx, g.send)
}

// finish makes an exchange, and leaves, also when ctx ends before it has ended: what was taken can't be taken again,
// and what servers have said of their changes they don't say twice. The caller has entered.
func (g *geo) finish(ctx context.Context, exchange func(context.Context) error) error {
	over := make(chan error, 1)
	g.sending.Go(func() {
		defer g.leave()
		over <- g.fail(exchange(g.w.Context))
	})
	select {
	case err := <-over:
		return err
	case <-ctx.Done():
		return fmt.Errorf("waiting for an exchange on its way: %w", ctx.Err())
	}
}

// take takes the n-th part of what has changed. n is the number of workers for an exchange beside training, and 1 for
// all that is left. The caller has entered.
func (g *geo) take(n int) {
	g.model.take(&g.delta, n, g.w.Strategy.GeoRest == strategy.GeoRestKeep, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.delta.Samples = max(g.samples, 1)
		g.made, g.samples, g.steps, g.settled = g.steps, 0, 0, n == 1
		g.at = g.w.Progress.All()
	})
}

// send makes an exchange of what was taken. The push carries how many updates it is made of in the place of a round.
func (g *geo) send(ctx context.Context) error {
	step, acked := g.w.Servers.Sequence.Begin()
	err := g.x.Run(ctx, exchange.Request{Op: wire.OpStep, Round: mode.Round(g.made), Push: g.delta, Positions: g.at,
		Seq:   step,
		Acked: acked, All: true})
	g.w.Servers.Sequence.End(step)
	if err != nil {
		return describe(err, "exchanging", g.w)
	}
	g.w.Servers.Tally.Steps.Add(1)
	g.model.receive(g.x.Dense)
	return g.receive(ctx)
}

// receive takes over the rows that have changed at the servers, and the rate. Servers are asked all at once, each page
// after page.
func (g *geo) receive(ctx context.Context) error {
	var rated error
	var asking sync.WaitGroup
	asking.Go(func() { rated = g.w.UseRate(ctx, g.model.store.SetRateFactor) })
	err := g.x.Each(func(s int) error {
		for more := true; more; {
			var err error
			if more, err = g.page(ctx, s); err != nil {
				return err
			}
		}
		return nil
	})
	asking.Wait()
	if err == nil {
		err = rated
	}
	return describe(err, "bringing what has changed", g.w)
}

// page brings as many changed rows of a server as one frame holds. Each page has a number of its own: servers keep what
// they gave under it, and give the same when it is asked for again.
func (g *geo) page(ctx context.Context, s int) (more bool, err error) {
	if len(g.model.rows) == 0 {
		return false, nil
	}
	step, acked := g.w.Servers.Sequence.Begin()
	defer g.w.Servers.Sequence.End(step)
	return g.x.Changed(ctx, s, step, acked, func(p *exchange.Page) error { return g.model.receiveRows(s, p) })
}

// refresh takes over what the servers have, and sends nothing. Changes that the worker has not sent stay on top. The
// caller has entered.
func (g *geo) refresh(ctx context.Context) error {
	if err := g.x.Run(ctx, exchange.Request{Op: wire.OpStep}); err != nil {
		return describe(err, "bringing weights", g.w)
	}
	g.model.receive(g.x.Dense)
	return g.receive(ctx)
}

// join brings, once, what servers had before this worker began. Later it waits for nothing: exchanges go on beside
// training. The first thread does it, and the others wait.
func (g *geo) join(ctx context.Context) error {
	if begun, err := g.state(); begun || err != nil {
		return err
	}
	if err := g.enter(ctx); err != nil {
		return err
	}
	if begun, err := g.state(); begun || err != nil {
		g.leave()
		return err // another session was first
	}
	return g.finish(ctx, func(ctx context.Context) error {
		err := g.refresh(ctx)
		g.mu.Lock()
		defer g.mu.Unlock()
		g.begun = err == nil
		return err
	})
}

// state fails once an exchange has failed, or the worker's life has ended: a copy could train on for many steps before
// its next exchange. begun says whether join has anything to do.
func (g *geo) state() (begun bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.begun, cmp.Or(g.err, context.Cause(g.w.Context))
}

// enter waits until no exchange is on its way, and keeps others from beginning until leave. It does not look whether an
// exchange has failed before.
func (g *geo) enter(ctx context.Context) error {
	select {
	case g.exchanging <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for an exchange on its way: %w", ctx.Err())
	}
}

// leave ends what enter has begun.
func (g *geo) leave() { <-g.exchanging }

// fail remembers the first error: the worker's copy can't be trusted after it. It returns the first error, whichever it
// is given.
func (g *geo) fail(err error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err == nil {
		g.err = err
	}
	return g.err
}
