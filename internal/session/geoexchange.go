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

// due begins an exchange beside training if k steps have been made. If the last one is not over, the training loop
// waits. The error of a failed exchange is returned by the next step.
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
		_ = g.fail(g.send(g.w.Context)) // the next step returns it
	})
	return ctx.Err()
}

// isDue counts the steps of all threads together.
func (g *geo) isDue() (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.steps >= g.w.Strategy.KSteps, g.err
}

// settle sends all changes that are left, whole, and stores the answers. Other threads may train meanwhile; changes
// after the take are left.
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

// finish makes an exchange, and leaves, even if ctx ends before the exchange: changes can't be taken twice, and servers
// do not report the same changes twice. The caller has entered.
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

// take takes the n-th part of the changes. n is the number of workers for an exchange beside training, and 1 for all
// that is left. The caller has entered.
func (g *geo) take(n int) {
	g.model.take(&g.delta, n, g.w.Strategy.GeoRest == strategy.GeoRestKeep, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.delta.Samples = max(g.samples, 1)
		g.made, g.samples, g.steps, g.settled = g.steps, 0, 0, n == 1
		if g.at = g.w.Progress.All(); len(g.at) > 0 {
			g.at[0].Frozen = g.w.Progress.Kept()
		}
	})
}

// send exchanges what was taken. The push carries its number of updates in place of a round.
func (g *geo) send(ctx context.Context) error {
	step, acked := g.w.Servers.Sequence.Begin()
	err := g.x.Run(ctx, exchange.Request{Op: wire.OpStep, Round: mode.Round(g.made), Push: g.delta, Positions: g.at,
		Seq: step, Acked: acked, All: true})
	g.w.Servers.Sequence.End(step)
	if err != nil {
		return describe(err, "exchanging", g.w)
	}
	g.w.Servers.Tally.Steps.Add(1)
	g.model.receive(g.x.Dense)
	return g.receive(ctx)
}

// receive fetches the rows that have changed at the servers, and the rate. All servers are asked at once, each page by
// page.
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

// page fetches as many changed rows of a server as one frame holds. Each page has a number of its own: servers keep the
// page under it, and repeat it for a repeated request.
func (g *geo) page(ctx context.Context, s int) (more bool, err error) {
	if len(g.model.rows) == 0 {
		return false, nil
	}
	step, acked := g.w.Servers.Sequence.Begin()
	defer g.w.Servers.Sequence.End(step)
	return g.x.Changed(ctx, s, step, acked, func(p *exchange.Page) error { return g.model.receiveRows(s, p) })
}

// refresh fetches the servers' weights, and sends nothing. Unsent changes of the worker stay on top. The caller has
// entered.
func (g *geo) refresh(ctx context.Context) error {
	if err := g.x.Run(ctx, exchange.Request{Op: wire.OpStep}); err != nil {
		return describe(err, "bringing weights", g.w)
	}
	g.model.receive(g.x.Dense)
	return g.receive(ctx)
}

// join fetches, once, what servers had before this worker began. The first thread does so, and the others wait; later
// calls do not wait.
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

// state fails once an exchange has failed, or the worker's life has ended: a copy could train for many steps before its
// next exchange. begun reports that join has nothing left to do.
func (g *geo) state() (begun bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.begun, cmp.Or(g.err, context.Cause(g.w.Context))
}

// enter waits until no exchange is under way, and keeps others from beginning until leave. It does not check whether an
// earlier exchange has failed.
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

// fail stores the first error, after which the worker's copy can't be trusted, and returns the stored one.
func (g *geo) fail(err error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err == nil {
		g.err = err
	}
	return g.err
}
