package client

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
)

// batch is a checkpoint and the end of a period, in a cut that this worker keeps for both.
type batch struct {
	c     *Client
	msg   wire.Save // with the name of the period, which is that of the first attempt
	whole bool      // the checkpoint is
}

// SaveBatch implements [backend.Trainer]. When another worker has done the same at that very step, there is nothing to
// do. When a server that comes back was lost meanwhile, the cut is made anew; a checkpoint that is whole stays, and a
// period that has ended on a server ends there no second time.
func (c *Client) SaveBatch(ctx context.Context, dir string, o table.Shrink) error {
	if mode.Of(c.Strategy.Mode).Copies {
		return errors.New("mode geo keeps every row on every worker, and servers can't end a period of those")
	}
	dir, err := filepath.Abs(dir) // servers have working directories of their own
	if err != nil {
		return err
	}
	done, err := c.turn(ctx, "saving")
	if err != nil {
		return err
	}
	defer done()
	how := wire.Shrink{Decay: o.Decay, MinScore: o.MinScore, Unseen: o.Unseen}
	b := batch{c: c, msg: wire.Save{Dir: dir, Shrink: &how, Read: true}}
	err = c.cuts.repeat(func() error { return b.once(ctx) })
	c.sessions.Met() // rows that were fetched ahead may be gone
	if err != nil {
		return fmt.Errorf("saving %s: %w", dir, err)
	}
	return nil
}

// once makes one attempt.
func (b *batch) once(ctx context.Context) (err error) {
	msg := &b.msg
	msg.ID = b.c.cuts.id()
	if err := b.c.saving.claim(ctx, msg); err != nil {
		return err
	}
	defer func() {
		end := wire.Save{ID: msg.ID, Read: true}
		if !b.whole {
			end.Dir = msg.Dir // whose parts nobody wants
		}
		b.c.cuts.abandon(ctx, end)
	}()
	steps, before, err := b.c.cuts.freeze(ctx, msg)
	if err != nil || before != nil {
		b.whole = before != nil
		return err
	}
	if err := b.c.frozen.keep(ctx, msg.ID); err != nil {
		return err
	}
	msg.Steps = steps
	if err := b.c.cuts.reach(ctx, msg, func(int) any { return nil }); err != nil {
		return err
	}
	if !b.whole {
		if err := b.write(ctx, *msg); err != nil {
			return err
		}
	}
	return b.end(ctx, *msg)
}

// write has all servers write their parts, and server 0 make them a checkpoint.
func (b *batch) write(ctx context.Context, msg wire.Save) error {
	msg.Shrink = nil
	parts := make([]wire.Part, len(b.c.Servers))
	write := msg
	err := b.c.link.together(func(s int) error { return b.c.link.control(ctx, s, wire.OpBatch, write, &parts[s]) })
	if err != nil {
		return err
	}
	msg.Parts = parts
	err = b.c.link.control(ctx, 0, wire.OpBatch, msg, nil)
	b.whole = err == nil
	return err
}

// end ends the period on all servers, and has server 0 say so to whoever comes at this step.
func (b *batch) end(ctx context.Context, msg wire.Save) error {
	ctx = context.WithoutCancel(ctx) // half of it would be two periods
	parts := make([]wire.Freed, len(b.c.Servers))
	err := b.c.link.together(func(s int) error { return b.c.link.control(ctx, s, wire.OpBatch, msg, &parts[s]) })
	if err != nil {
		return err
	}
	if msg.Freed, err = b.c.sum(parts); err != nil {
		return err
	}
	return b.c.link.control(ctx, 0, wire.OpBatch, msg, nil)
}
