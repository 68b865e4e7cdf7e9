package client

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/exchange"
	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/session"
	"github.com/gofleet/gofleet/internal/wire"
)

// frozen holds this worker's values of frozen params, and sends them to a checkpoint and reads them from one.
type frozen struct {
	link   *link
	layout *layout.Layout
	// values are shared with the sessions, and have their own lock.
	values *session.Frozen
	loads  *atomic.Int64 // how often servers have loaded frozen values, shared with the client
	most   int           // the most bytes of values in a frame, which also names params
}

// SetDense implements [backend.Trainer]. This worker's sessions use the values from their next step on, and checkpoints
// and models that it saves contain them.
func (c *Client) SetDense(name string, w []float32) error { return c.frozen.set(name, w) }

// set replaces the values of the named param with a copy of w, which must have the param's size. It returns an error
// for a param that is not dense and frozen.
func (z *frozen) set(name string, w []float32) error {
	for _, b := range z.layout.Frozen.Blocks {
		if b.Name != name {
			continue
		}
		if len(w) != b.Size {
			return fmt.Errorf("%d values for param %q, which has %d", len(w), name, b.Size)
		}
		z.values.Set(b.Param, w)
		return nil
	}
	return fmt.Errorf("param %q is not dense and frozen: servers have its weights", name)
}

// runs divides the values into runs that fit a frame. A run is a range of the values of all frozen params, concatenated
// in the layout's order.
func (z *frozen) runs() func(yield func(from, to int) bool) {
	return exchange.Runs(z.layout.Frozen.Floats, wire.Float32.DenseFit(z.most))
}

// keep sends this worker's frozen values to server 0, for the checkpoint of cut id. The runs go in order, one after the
// other, since server 0 accepts no gap. Server 0 uses them only when that checkpoint is written, and only if this
// worker has missed no load of frozen values. Those of instead, by name, take the place of this worker's.
func (z *frozen) keep(ctx context.Context, id string, instead map[string][]float32) error {
	loads, all := z.loads.Load(), z.values.Values()
	for _, b := range z.layout.Frozen.Blocks {
		copy(all[b.At:][:b.Size], instead[b.Name])
	}
	var b wire.Builder
	for from, to := range z.runs() {
		b.Reset(z.link.header(0, wire.OpKeep))
		if err := b.JSON(wire.Keep{ID: id, Loads: loads}); err != nil {
			return err
		}
		b.Span(from, to)
		b.Dense(all[from:to])
		if err := z.link.Do(ctx, 0, b.Parts(), nil); err != nil {
			return err
		}
	}
	return nil
}

// bring reads the frozen values that servers have from a checkpoint; the others stay as they are. Each answer names the
// params that server 0 has values of. An answer without names ends it at once: the worker keeps the program's values.
func (z *frozen) bring(ctx context.Context) error {
	all := make([]float32, z.layout.Frozen.Floats)
	var kept wire.Kept
	var b wire.Builder
	for from, to := range z.runs() {
		b.Reset(z.link.header(0, wire.OpBring))
		b.Span(from, to)
		err := z.link.Do(ctx, 0, b.Parts(), func(f *wire.Frame) error {
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
	z.apply(kept, all)
	return nil
}

// readFrozen copies the dense section of an answer to to.
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

// apply sets this worker's frozen values from all. kept names the params that have values, by index in the layout.
func (z *frozen) apply(kept wire.Kept, all []float32) {
	for _, b := range z.layout.Frozen.Blocks {
		if slices.Contains(kept.Params, b.Param) {
			z.values.Set(b.Param, all[b.At:][:b.Size])
		}
	}
}
