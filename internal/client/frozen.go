package client

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/exchange"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
)

// frozen are this worker's values of frozen dense params, which training may compute without gradients, as batch norm does its
// statistics. They take no part in pushes and pulls: servers have them in checkpoints alone.
type frozen struct {
	version atomic.Int64 // how often they were set
	mu      sync.Mutex   // guards what follows, and params' W while it is written
	w       [][]float32  // by param; nil while they are those that the params began with
}

// set makes a copy of w the values of a param.
func (f *frozen) set(param int, w []float32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.w[param] = slices.Clone(w)
	f.version.Add(1)
}

// install copies into a session's params what was set since the version that it has, and returns the version that it has now.
func (f *frozen) install(params []*optimizer.Param, has int64) int64 {
	if f.version.Load() == has {
		return has
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, w := range f.w {
		if w != nil {
			copy(params[i].W, w)
		}
	}
	return f.version.Load()
}

// SetDense implements [backend.Trainer]. This worker's sessions see the values from their next step on, and a checkpoint or a model that
// it saves has them.
func (c *Client) SetDense(name string, w []float32) error {
	for _, b := range c.c.Layout.Frozen.Blocks {
		if b.Name != name {
			continue
		}
		if len(w) != b.Size {
			return fmt.Errorf("%d values for param %q, which has %d", len(w), name, b.Size)
		}
		c.frozen.set(b.Param, w)
		return nil
	}
	return fmt.Errorf("param %q is not dense and frozen: servers have its weights", name)
}

// frozenValues are a copy of this worker's, one param after the other.
func (c *Client) frozenValues() []float32 {
	c.frozen.mu.Lock()
	defer c.frozen.mu.Unlock()
	all := make([]float32, 0, c.c.Layout.Frozen.Floats)
	for _, b := range c.c.Layout.Frozen.Blocks {
		w := c.frozen.w[b.Param]
		if w == nil {
			w = c.c.Layout.Params[b.Param].W
		}
		all = append(all, w...)
	}
	return all
}

// frozenRuns cuts the frozen values into what half a frame holds of them: an answer names params beside them.
func (c *Client) frozenRuns() func(yield func(from, to int) bool) {
	return exchange.Runs(c.c.Layout.Frozen.Floats, wire.Float32.DenseFit(c.servers.MaxFrame/2))
}

// keep gives server 0 this worker's frozen values, for the cut of a save.
func (c *Client) keep(ctx context.Context, id string) error {
	all := c.frozenValues()
	var b wire.Builder
	for from, to := range c.frozenRuns() {
		b.Reset(c.header(wire.OpKeep))
		if err := b.JSON(wire.Save{ID: id}); err != nil {
			return err
		}
		b.Span(from, to)
		b.Dense(all[from:to])
		if err := c.call(ctx, c.patience(), 0, b.Parts(), nil); err != nil {
			return err
		}
	}
	return nil
}

// bring takes the frozen values that a checkpoint has, if there are any. Others stay as they are.
func (c *Client) bring(ctx context.Context) error {
	all := make([]float32, c.c.Layout.Frozen.Floats)
	var kept wire.Kept
	var b wire.Builder
	for from, to := range c.frozenRuns() {
		b.Reset(c.header(wire.OpBring))
		b.Span(from, to)
		err := c.call(ctx, c.patience(), 0, b.Parts(), func(f *wire.Frame) error {
			kept = wire.Kept{}
			if err := f.JSON(&kept); err != nil || len(kept.Params) == 0 {
				return err
			}
			return readFrozen(f, all[from:to])
		})
		if err != nil {
			return fmt.Errorf("bringing what is frozen: %w", err)
		}
		if len(kept.Params) == 0 {
			return nil
		}
	}
	c.takeFrozen(kept, all)
	return nil
}

// readFrozen takes the dense section of an answer.
func readFrozen(f *wire.Frame, to []float32) error {
	for _, sec := range f.Sections {
		if sec.Kind != wire.KindDense {
			continue
		}
		w, err := sec.Dense()
		if err == nil && len(w) != len(to) {
			err = fmt.Errorf("%d frozen values came, %d were asked for", len(w), len(to))
		}
		copy(to, w)
		return err
	}
	return fmt.Errorf("%d frozen values were asked for, none came", len(to))
}

// takeFrozen makes values that came this worker's.
func (c *Client) takeFrozen(kept wire.Kept, all []float32) {
	for _, b := range c.c.Layout.Frozen.Blocks {
		if slices.Contains(kept.Params, b.Param) {
			c.frozen.set(b.Param, all[b.At:][:b.Size])
		}
	}
	c.frozen.install(c.c.Layout.Params, 0)
}
