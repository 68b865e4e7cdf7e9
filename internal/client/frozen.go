package client

import (
	"context"
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/internal/exchange"
	"github.com/gofleet/gofleet/internal/wire"
)

// SetDense implements [backend.Trainer]. This worker's sessions see the values from their next step on, and a checkpoint or a model that
// it saves has them.
func (c *Client) SetDense(name string, w []float32) error {
	for _, b := range c.Layout.Frozen.Blocks {
		if b.Name != name {
			continue
		}
		if len(w) != b.Size {
			return fmt.Errorf("%d values for param %q, which has %d", len(w), name, b.Size)
		}
		c.sessions.Frozen.Set(b.Param, w)
		return nil
	}
	return fmt.Errorf("param %q is not dense and frozen: servers have its weights", name)
}

// frozenRuns cuts the frozen values into what half a frame holds of them: an answer names params beside them.
func (c *Client) frozenRuns() func(yield func(from, to int) bool) {
	return exchange.Runs(c.Layout.Frozen.Floats, wire.Float32.DenseFit(c.servers.MaxFrame/2))
}

// keep gives server 0 this worker's frozen values, for the cut of a save.
func (c *Client) keep(ctx context.Context, id string) error {
	all := c.sessions.Frozen.Values()
	var b wire.Builder
	for from, to := range c.frozenRuns() {
		b.Reset(c.link.header(wire.OpKeep))
		if err := b.JSON(wire.Save{ID: id}); err != nil {
			return err
		}
		b.Span(from, to)
		b.Dense(all[from:to])
		if err := c.link.call(ctx, c.link.patience(), 0, b.Parts(), nil); err != nil {
			return err
		}
	}
	return nil
}

// bring takes the frozen values that a checkpoint has, if there are any. Others stay as they are.
func (c *Client) bring(ctx context.Context) error {
	all := make([]float32, c.Layout.Frozen.Floats)
	var kept wire.Kept
	var b wire.Builder
	for from, to := range c.frozenRuns() {
		b.Reset(c.link.header(wire.OpBring))
		b.Span(from, to)
		err := c.link.call(ctx, c.link.patience(), 0, b.Parts(), func(f *wire.Frame) error {
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
	for _, b := range c.Layout.Frozen.Blocks {
		if slices.Contains(kept.Params, b.Param) {
			c.sessions.Frozen.Set(b.Param, all[b.At:][:b.Size])
		}
	}
	c.sessions.Frozen.Install(c.Layout.Params, 0)
}
