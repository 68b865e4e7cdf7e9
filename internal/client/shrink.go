package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
)

// Shrink implements [backend.Trainer]: it makes all servers end a period in one cut. When another worker has ended the period at that very
// step, in the same way, there is nothing to do but tell what was dropped.
func (c *Client) Shrink(ctx context.Context, o table.Shrink) ([]table.Shrunk, error) {
	if mode.Of(c.Strategy.Mode).Copies {
		return nil, errors.New("mode geo keeps every row on every worker, and servers can't drop those")
	}
	done, err := c.turn(ctx, "shrinking")
	if err != nil {
		return nil, err
	}
	defer done()
	msg := wire.Save{Shrink: &wire.Shrink{Decay: o.Decay, MinScore: o.MinScore, Unseen: o.Unseen}}
	var freed wire.Freed
	err = c.cuts.repeat(func() (err error) {
		msg.ID = c.cuts.id() // the period is that of the first attempt
		if freed, err = c.shrink(ctx, &msg); err != nil {
			c.cuts.abandon(ctx, msg)
		}
		return err
	})
	c.sessions.Met() // rows that were fetched ahead may be gone
	if err != nil {
		return nil, fmt.Errorf("shrinking: %w", err)
	}
	all := make([]table.Shrunk, len(c.Layout.Embeddings))
	for e := range all {
		all[e] = table.Shrunk{Rows: freed.Rows[e], Waiting: freed.Waiting[e]}
	}
	return all, nil
}

// shrink makes one attempt.
func (c *Client) shrink(ctx context.Context, msg *wire.Save) (wire.Freed, error) {
	steps, before, err := c.cuts.freeze(ctx, msg)
	if err != nil {
		return wire.Freed{}, err
	}
	if before != nil {
		return before.Freed, c.checkFreed(0, before.Freed)
	}
	msg.Steps = steps
	parts := make([]wire.Freed, len(c.Servers))
	if err := c.cuts.reach(ctx, msg, func(s int) any { return &parts[s] }); err != nil {
		return wire.Freed{}, err
	}
	if msg.Freed, err = c.sum(parts); err != nil {
		return wire.Freed{}, err
	}
	return msg.Freed, c.cuts.commit(ctx, msg)
}

// sum is what all servers have dropped.
func (c *Client) sum(parts []wire.Freed) (all wire.Freed, err error) {
	n := len(c.Layout.Embeddings)
	all = wire.Freed{Rows: make([]int, n), Waiting: make([]int, n)}
	for s, p := range parts {
		if err := c.checkFreed(s, p); err != nil {
			return wire.Freed{}, err
		}
		for e := range n {
			all.Rows[e] += p.Rows[e]
			all.Waiting[e] += p.Waiting[e]
		}
	}
	return all, nil
}

func (c *Client) checkFreed(server int, f wire.Freed) error {
	if n := len(c.Layout.Embeddings); len(f.Rows) != n || len(f.Waiting) != n {
		return c.link.name(server, fmt.Errorf("it answered for %d tables, want %d", len(f.Rows), n))
	}
	return nil
}
