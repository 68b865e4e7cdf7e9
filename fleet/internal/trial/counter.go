package trial

import (
	"context"
	"errors"
	"fmt"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// Counter is an objective whose every step adds one to each weight, and to the same rows of every table: under gradient
// descent of rate 1 all values count the steps that were applied. Sums of whole numbers are exact.
type Counter struct {
	Objective
	W, Rows *optimizer.Param        // of NewCounter
	IDs     []uint64                // of the rows in a step
	Each    float32                 // the amount that a step adds instead of one, unless it is 0
	Of      func(id uint64) float32 // if set, the amount for a row
}

// NewCounter returns a counter with a vector of n weights and a table of n rows.
func NewCounter(n int) *Counter {
	c := &Counter{W: Dense("w", nil, n), Rows: Embedding("rows", nil, 0, 2)}
	c.List = []*optimizer.Param{c.W, c.Rows}
	for i := range uint64(n) {
		c.IDs = append(c.IDs, i<<32)
	}
	return c
}

// NewWeights returns a counter with a vector only.
func NewWeights(n int) *Counter {
	c := NewCounter(n)
	c.List = c.List[:1]
	return c
}

// Measured is sync training in which servers compute the norms of all counters' gradients together, without clipping
// them.
var Measured = strategy.Strategy{Mode: strategy.ModeSync, MaxFrame: 8192}

// counting returns the rule by which weights count.
func counting(s strategy.Strategy) optimizer.Rule {
	if s.Mode == Measured.Mode && s.MaxFrame == Measured.MaxFrame {
		return optimizer.ClipByGlobalNorm{Rule: optimizer.SGD{LR: 1}, Norm: 1e9}
	}
	return optimizer.SGD{LR: 1}
}

// Play runs a counting role; see [Play].
func (c *Counter) Play(ctx context.Context, f *fleet.Fleet, s strategy.Strategy, work func() error) error {
	return Play(ctx, f, c, counting(s), s, work)
}

// Counters is the program of a job whose workers count in n weights and n rows.
func Counters(n int, s strategy.Strategy, work func(context.Context, *fleet.Fleet, *Counter) error) fleettest.Program {
	return func(ctx context.Context, f *fleet.Fleet) error {
		c := NewCounter(n)
		return c.Play(ctx, f, s, func() error { return work(ctx, f, c) })
	}
}

// Join joins a job that counts; see [Join].
func (c *Counter) Join(ctx context.Context, f *fleet.Fleet, s strategy.Strategy) (worker bool, err error) {
	return Join(ctx, f, c, counting(s), s)
}

// Step returns a step with its gradients.
func (c *Counter) Step() *optimizer.Step {
	each := c.Each
	if each == 0 {
		each = 1
	}
	st := &optimizer.Step{Samples: 1}
	for _, p := range c.List {
		g := p.G
		if p.Embedding {
			r := RowsOf(p, c.IDs)
			r.Next, g = c.IDs, r.G
			st.Rows = append(st.Rows, r)
		}
		for i := range g {
			if g[i] = -each; p.Embedding && c.Of != nil {
				g[i] = -c.Of(c.IDs[i/p.Dim()])
			}
		}
	}
	return st
}

// Steps makes n steps in a session.
func (c *Counter) Steps(ctx context.Context, s optimizer.Session, n int) error {
	for range n {
		if err := Step(ctx, s, c.Step(), nil); err != nil {
			return err
		}
	}
	return nil
}

// Train makes n steps in a new session; they are in the weights when it returns.
func (c *Counter) Train(ctx context.Context, n int) error {
	return c.InSession(ctx, func(s optimizer.Session) error { return c.Steps(ctx, s, n) })
}

// Seen returns all weights and rows, as an evaluation in the session sees them.
func (c *Counter) Seen(ctx context.Context, s optimizer.Session) (values []float32, err error) {
	st := c.Step()
	st.Eval = true
	if err := Step(ctx, s, st, nil); err != nil {
		return nil, err
	}
	for _, p := range c.List {
		if !p.Embedding {
			values = append(values, p.W...)
		}
	}
	for _, r := range st.Rows {
		values = append(values, r.W...)
	}
	return values, nil
}

// Values returns all weights and rows, as an evaluation in a new session sees them.
func (c *Counter) Values(ctx context.Context) (values []float32, err error) {
	err = c.InSession(ctx, func(s optimizer.Session) error {
		values, err = c.Seen(ctx, s)
		return err
	})
	return values, err
}

// Holds returns an error unless all values are the wanted count.
func (c *Counter) Holds(ctx context.Context, want float32) error {
	values, err := c.Values(ctx)
	if err != nil {
		return err
	}
	return AllAre(values, want)
}

// AllAre returns an error unless all values are the wanted number.
func AllAre(values []float32, want float32) error {
	for i, v := range values {
		if v != want {
			return fmt.Errorf("value %d of %d is %v, want %v", i, len(values), v, want)
		}
	}
	if len(values) == 0 {
		return errors.New("no values; want at least one")
	}
	return nil
}

// CounterFor returns a counter with a few weights, or with enough for several of a strategy's small frames.
func CounterFor(s strategy.Strategy) *Counter {
	if most := s.WithDefaults().MaxFrame; most < 64<<20 {
		return NewCounter(most / 2)
	}
	return NewCounter(5)
}

// Count runs a whole job of counters: after all have trained, the values in a worker's session must be the wanted
// count.
func Count(ctx context.Context, f *fleet.Fleet, s strategy.Strategy, steps int, want float32) error {
	c := CounterFor(s)
	return c.Play(ctx, f, s, func() error {
		return c.InSession(ctx, func(session optimizer.Session) error {
			if err := c.Steps(ctx, session, steps); err != nil {
				return err
			}
			if err := c.Trainer.EndEpoch(ctx); err != nil {
				return err
			}
			if err := f.BarrierWorker(ctx); err != nil {
				return err
			}
			values, err := c.Seen(ctx, session)
			if err != nil {
				return err
			}
			return AllAre(values, want)
		})
	})
}
