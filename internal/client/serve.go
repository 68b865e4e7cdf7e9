package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
)

// Serve implements [backend.Trainer]. Servers mark their chain as doubted while the model is completed, and record the
// new chain when it is. If a process ends in between, rows count as not served and servers stay doubted until the next
// base.
func (c *Client) Serve(ctx context.Context, how table.Serving, as *progress.Deed, write func(backend.Serving) error,
	commit func() (table.Chain, error)) error {
	done, err := c.turn(ctx, "saving a model for serving")
	if err != nil {
		return err
	}
	defer done()
	whole := false
	read := func(number uint64, said [][]byte) (wire.Chain, error) {
		if whole {
			return wire.Chain{}, errors.New("server 0 was started again")
		}
		now, err := c.serve(ctx, nameOf(number), how, said, write, commit)
		whole = err == nil
		return wire.Chain(now), err
	}
	var late error
	err = c.cuts.repeat(func() error {
		task := cut.Task{Serve: &cut.Serve{Serving: wire.Serving(how)}}
		_, err := c.cuts.lead(ctx, call{task: task, as: as, read: read})
		if whole && err != nil {
			late = fmt.Errorf("the model is whole, and not all servers know of it (the next is to be a base if they "+
				"don't): %w", err)
			return nil
		}
		return err
	})
	return errors.Join(err, late)
}

// serve writes a model in a cut. The order matters: write writes the model's files, servers mark the chain as doubted,
// commit completes the model. So no server bases a delta on a chain while a later model may be complete. now is the new
// chain, zero if the model is surely not complete.
func (c *Client) serve(ctx context.Context, name string, how table.Serving, said [][]byte,
	write func(backend.Serving) error, commit func() (table.Chain, error)) (now table.Chain, err error) {
	chain, left, err := c.link.listed(said, how)
	if err != nil {
		return now, err
	}
	cut := &between{c.scans, c.Dense, name}
	if err := write(backend.Serving{Weights: cut, Gone: cut.gone, Chain: chain, Left: left}); err != nil {
		return now, err
	}
	before := func(ctx context.Context, chain table.Chain) error {
		msg := wire.Serve{Cut: name, Before: wire.Chain(chain)}
		return c.link.together(func(s int) error { return c.link.control(ctx, s, wire.OpServe, msg, nil) })
	}
	if err := before(ctx, chain.Doubted()); err != nil {
		_ = before(context.WithoutCancel(ctx), chain) // the model is not complete: undo where possible
		return now, err
	}
	now, err = commit()
	if err != nil && now == (table.Chain{}) { // the model is surely not complete
		err = errors.Join(err, before(context.WithoutCancel(ctx), chain))
	}
	return now, err
}

// listed returns what all servers have listed for a model: the chain of models before, which must be the same on all
// for a delta, and how many rows are left out. If one server's chain is doubted or of another generation, the result is
// doubted.
func (l *link) listed(said [][]byte, how table.Serving) (chain table.Chain, left int, err error) {
	all := make([]wire.Listed, len(said))
	for s, text := range said {
		if err := json.Unmarshal(text, &all[s]); err != nil {
			return chain, 0, l.name(s, err)
		}
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
