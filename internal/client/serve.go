package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
)

// serving are the weights of a cut that a model for serving takes. It implements [backend.Serving].
type serving struct {
	between
	chain table.Chain
	left  int
}

// Chain implements [backend.Serving].
func (v *serving) Chain() table.Chain { return v.chain }

// Left implements [backend.Serving].
func (v *serving) Left() int { return v.left }

// Gone implements [backend.Serving].
func (v *serving) Gone(ctx context.Context, name string, yield func(ids []uint64) error) error {
	return v.each(ctx, name, wire.Scan{IDs: true, Gone: true},
		func(ids []uint64, _ []float32) error { return yield(ids) })
}

// Serve implements [backend.Trainer]. Servers doubt what was saved while the model is made whole, and it is whole
// before server 0 knows of it, which knows before the others: whoever ends in between leaves rows that count as not
// served, and servers that doubt or say different things, which only a base sets right.
func (c *Client) Serve(ctx context.Context, how table.Serving, write func(backend.Serving) error,
	commit func() (table.Chain, error)) error {
	done, err := c.turn(ctx, "saving a model for serving")
	if err != nil {
		return err
	}
	defer done()
	return c.cuts.repeat(func() error { return c.serve(ctx, how, write, commit) })
}

// serve makes one attempt.
func (c *Client) serve(ctx context.Context, how table.Serving, write func(backend.Serving) error,
	commit func() (table.Chain, error)) (err error) {
	msg := wire.Save{ID: c.cuts.id(), Read: true}
	defer c.cuts.abandon(ctx, msg)
	if msg.Steps, _, err = c.cuts.freeze(ctx, &msg); err != nil {
		return err
	}
	reached := func() error { return c.cuts.reach(ctx, &msg, func(int) any { return nil }) }
	if err := reached(); err != nil {
		return err
	}
	chain, left, err := c.selects(ctx, msg.ID, how)
	if err != nil {
		return err
	}
	if err := write(&serving{between{c, msg.ID}, chain, left}); err != nil {
		return err
	}
	if err := reached(); err != nil {
		return err
	}
	before := func(ctx context.Context, chain table.Chain) error {
		msg := wire.Serve{ID: msg.ID, Before: (*wire.Chain)(&chain)}
		return c.link.together(func(s int) error { return c.link.control(ctx, s, wire.OpServe, msg, nil) })
	}
	if err := before(ctx, chain.Doubted()); err != nil {
		_ = before(context.WithoutCancel(ctx), chain) // nothing is whole: servers that can be reached doubt nothing
		return err
	}
	now, err := commit()
	switch {
	case err == nil:
	case now == table.Chain{}: // it is not whole, for sure
		return errors.Join(err, before(context.WithoutCancel(ctx), chain))
	default:
		return err
	}
	if err := c.served(context.WithoutCancel(ctx), msg.ID, now); err != nil {
		return fmt.Errorf("the model is whole, and not all servers know of it (the next is to be a base if it did "+
			"not): %w", err)
	}
	return nil
}

// selects has all servers list what the model takes, and returns the models before, which must be the same for a delta,
// with how many rows are left out. What one server doubts all do.
func (c *Client) selects(ctx context.Context, id string, how table.Serving) (chain table.Chain, left int, err error) {
	all := make([]wire.Listed, len(c.Servers))
	msg := wire.Serve{ID: id, Select: (*wire.Serving)(&how)}
	err = c.link.together(func(s int) error { return c.link.control(ctx, s, wire.OpServe, msg, &all[s]) })
	if err != nil {
		return chain, 0, err
	}
	chain = table.Chain(all[0].Chain)
	for s, a := range all {
		of := table.Chain(a.Chain)
		if how.Delta && of.Doubted() != chain.Doubted() {
			return chain, 0, fmt.Errorf("%w: server %d follows %q, server 0 %q, since a save was broken off "+
				"between the two: save a base", backend.ErrNoBase, s, of.Last, chain.Last)
		}
		if left += a.Left; of.Generation != chain.Generation {
			chain = chain.Doubted()
		}
	}
	return chain, left, backend.Follows(how, chain)
}

// served has all servers take note of a model that is whole, server 0 first.
func (c *Client) served(ctx context.Context, id string, now table.Chain) error {
	msg := wire.Serve{ID: id, Now: (*wire.Chain)(&now)}
	tell := func(s int) error { return c.link.control(ctx, s, wire.OpServe, msg, nil) }
	if err := tell(0); err != nil {
		return err
	}
	return c.link.together(tell)
}
