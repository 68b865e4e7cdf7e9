package session

import (
	"context"
	"sync"

	"github.com/gofleet/gofleet/internal/exchange"

	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// due begins an exchange when its time has come, beside training. If the last one is not over, the training loop waits.
func (g *geo) due(ctx context.Context) error {
	g.mu.Lock()
	due, err := g.steps >= g.w.Strategy.KSteps, g.err
	g.mu.Unlock()
	if !due || err != nil {
		return err
	}
	if err := g.enter(ctx); err != nil {
		return err
	}
	g.take(g.w.Workers)
	g.sending.Go(func() {
		defer g.leave()
		_ = g.fail(g.send(g.w.Context)) // the next step tells
	})
	return ctx.Err()
}

// settle sends all that is left, whole, and takes over what came back.
func (g *geo) settle(ctx context.Context) error {
	if err := g.enter(ctx); err != nil {
		return err
	}
	defer g.leave()
	g.mu.Lock()
	err, idle := g.err, g.store.Step() == 0
	g.mu.Unlock()
	if err != nil || idle || g.w.Strategy.GeoRest == strategy.GeoRestKeep {
		return err
	}
	g.take(1)
	return g.fail(g.send(ctx))
}

// take takes the n-th part of what has changed: of dense params and of rows trained since the last exchange; and of other
// rows all that is left of them.
func (g *geo) take(n int) {
	g.whole.Lock()
	defer g.whole.Unlock()
	g.mu.Lock()
	g.delta.Samples = max(g.samples, 1)
	g.samples, g.steps = 0, 0
	g.mu.Unlock()
	for i, d := range g.dense {
		if d != nil {
			d.Edit(func(at int, w, _ []float32) { mode.Take(g.delta.Dense[i][at:], w, g.old[i][at:at+len(w)], n) })
		}
	}
	for e := range g.rows {
		g.takeRows(e, n)
	}
}

// takeRows takes the n-th part of the change of rows that were trained since the last exchange. What it leaves goes whole with the
// next exchange, unless the row is trained again before.
func (g *geo) takeRows(e, n int) {
	dim, keep := g.rows[e].Param().Dim(), g.w.Strategy.GeoRest == strategy.GeoRestKeep
	t := &g.taken
	t.IDs, t.G = t.IDs[:0], t.G[:0]
	g.rows[e].old.Take(func(id uint64, latest, old []float32, trained bool) (left bool) {
		share := n
		if !trained {
			share = 1
			if keep {
				return true
			}
		}
		t.IDs, t.G = append(t.IDs, id), append(t.G, old...)
		return mode.Take(t.G[len(t.G)-dim:], latest, old, share)
	})
	ids, places := kernels.Unique(t.IDs, &g.sorter)
	push := &g.delta.Rows[e]
	push.Want(ids, dim)
	for i, place := range places {
		copy(push.G[int(place)*dim:][:dim], t.G[i*dim:])
	}
}

// send makes an exchange of what was taken.
func (g *geo) send(ctx context.Context) error {
	step, acked := g.w.Servers.Sequence.Begin()
	err := g.x.Run(ctx, exchange.Request{Op: wire.OpStep, Push: g.delta, Seq: step, Acked: acked, All: true})
	g.w.Servers.Sequence.End(step)
	if err != nil {
		return describe(err, "exchanging", g.w)
	}
	g.w.Servers.Tally.Steps.Add(1)
	g.installDense()
	return g.receive(ctx)
}

// receive takes over the rows that have changed at the servers, and the rate.
func (g *geo) receive(ctx context.Context) error {
	var rated error
	var asking sync.WaitGroup
	asking.Go(func() { rated = g.w.UseRate(ctx, g.store.SetRateFactor) })
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

// page brings as many changed rows of a server as one frame holds.
func (g *geo) page(ctx context.Context, s int) (more bool, err error) {
	if len(g.rows) == 0 {
		return false, nil
	}
	step, acked := g.w.Servers.Sequence.Begin()
	defer g.w.Servers.Sequence.End(step)
	return g.x.Changed(ctx, s, step, acked, g.install)
}

// install takes over rows of an embedding that have changed at a server.
func (g *geo) install(e int, ids []uint64, w []float32) error {
	return g.rows[e].old.Receive(ids, w, func(latest, old, p []float32) {
		if old != nil {
			mode.Receive(latest, old, p)
		} else {
			copy(latest, p)
		}
	})
}

// refresh takes over what the servers have, and sends nothing.
func (g *geo) refresh(ctx context.Context) error {
	if err := g.x.Run(ctx, exchange.Request{Op: wire.OpStep}); err != nil {
		return describe(err, "bringing weights", g.w)
	}
	g.installDense()
	return g.receive(ctx)
}

// installDense takes over the dense weights that arrived last.
func (g *geo) installDense() {
	for i, d := range g.dense {
		if d != nil {
			d.Edit(func(at int, w, _ []float32) { mode.Receive(w, g.old[i][at:], g.arrived[i][at:at+len(w)]) })
		}
	}
	g.version.Add(1)
}
