package client

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/table"
)

// Save implements [backend.Trainer]. The servers write a checkpoint of one cut to dir, which all of them must see: all
// parts contain the same steps of every worker, and all steps that this worker has made. If dir has a checkpoint of
// that very step already, because another worker has saved it, nothing is written.
func (c *Client) Save(ctx context.Context, dir string, params ...string) error {
	if err := checkpoint.CheckParams(c.Layout.Params, params...); err != nil {
		return err
	}
	return c.write(ctx, &cut.Save{Dir: dir, Params: slices.Sorted(slices.Values(params))}, c.keep(ctx))
}

// keep returns what a worker does when all servers hold a checkpoint that names its directory.
func (c *Client) keep(ctx context.Context) func(string, *cut.Save) error {
	return func(id string, _ *cut.Save) error { return c.frozen.keep(ctx, id, nil) }
}

// write makes the servers write a checkpoint. It ends this worker's turn when all servers have their images, so that
// its steps continue while they write, or when the call ends.
func (c *Client) write(ctx context.Context, what *cut.Save, held func(id string, save *cut.Save) error) error {
	if err := c.known(); err != nil {
		return err
	}
	save := call{task: cut.Task{Save: what}, held: held}
	err := c.cuts.repeat(func() error {
		if err := c.cuts.early(ctx, &save); err != nil {
			return err
		}
		done, err := c.turn(ctx, "saving")
		if err != nil {
			return err
		}
		save.taken = sync.OnceFunc(done)
		defer save.taken()
		_, err = c.cuts.lead(ctx, save)
		return err
	})
	if err != nil {
		return fmt.Errorf("saving %s: %w", cmp.Or(what.Dir, "a checkpoint"), err)
	}
	return nil
}

// SaveBatch implements [backend.Trainer]. If another worker has done the same, and this one has made no step since,
// nothing is done.
func (c *Client) SaveBatch(ctx context.Context, dir string, o table.Shrink, as *progress.Deed) error {
	done, err := c.turn(ctx, "saving")
	if err != nil {
		return err
	}
	defer done()
	err = c.cuts.repeat(func() error {
		task := cut.Task{Save: &cut.Save{Dir: dir}, Shrink: c.shrink(o)}
		_, err := c.cuts.lead(ctx, call{task: task, as: as, held: c.keep(ctx)})
		return err
	})
	if err = c.after(ctx, err); err != nil {
		return fmt.Errorf("saving %s: %w", dir, err)
	}
	return nil
}
