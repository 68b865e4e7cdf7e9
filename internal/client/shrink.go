package client

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
)

// Shrink implements [backend.Trainer]: it makes all servers end a period in one cut. When another worker has ended the
// period behind the same barrier, in the same way, and this one has made no step since, it is told what was dropped.
func (c *Client) Shrink(ctx context.Context, o table.Shrink) ([]table.Shrunk, error) {
	done, err := c.turn(ctx, "shrinking")
	if err != nil {
		return nil, err
	}
	defer done()
	said, err := c.cuts.lead(ctx, call{plan: cut.Plan{cut.End},
		with: wire.Cutting{Met: c.gathers.met(),
			Shrink: wire.Shrink{Decay: o.Decay, MinScore: o.MinScore, Unseen: o.Unseen}}})
	var freed wire.Freed
	if err == nil {
		freed, err = c.freed(said)
	}
	if err = c.after(ctx, err); err != nil {
		return nil, fmt.Errorf("shrinking: %w", err)
	}
	all := make([]table.Shrunk, len(c.Layout.Embeddings))
	for e := range all {
		all[e] = table.Shrunk{Rows: freed.Rows[e], Waiting: freed.Waiting[e]}
	}
	return all, nil
}

// freed is what all servers say that they have dropped.
func (c *Client) freed(said [][]byte) (wire.Freed, error) {
	parts := make([]wire.Freed, len(said))
	for s, text := range said {
		if err := json.Unmarshal(text, &parts[s]); err != nil {
			return wire.Freed{}, c.link.name(s, err)
		}
	}
	return c.sum(parts)
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
