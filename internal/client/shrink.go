package client

import (
	"context"
	"fmt"

	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
)

// Shrink implements [backend.Trainer]. All servers end a period in one cut. If another worker has ended the period
// after the same barrier, in the same way, and this one has made no step since, it gets the result of that.
func (c *Client) Shrink(ctx context.Context, o table.Shrink, as *progress.Deed) ([]table.Shrunk, error) {
	done, err := c.turn(ctx, "shrinking")
	if err != nil {
		return nil, err
	}
	defer done()
	said, err := c.cuts.lead(ctx, call{task: cut.Task{Shrink: c.shrink(o)}, as: as})
	var freed wire.Freed
	if err == nil {
		freed, err = c.link.freed(said, len(c.Layout.Embeddings))
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

// shrink is the end of a period that is asked for now.
func (c *Client) shrink(o table.Shrink) *cut.Shrink {
	return &cut.Shrink{Met: c.gathers.met(),
		Shrink: wire.Shrink{Decay: o.Decay, MinScore: o.MinScore, Unseen: o.Unseen}}
}

// freed adds up what the servers have dropped, by table in the layout's order of embeddings. An error names a server
// that answered for another number of tables.
func (l *link) freed(said [][]byte, tables int) (wire.Freed, error) {
	all := wire.Freed{Rows: make([]int, tables), Waiting: make([]int, tables)}
	for s, text := range said {
		if err := all.Add(text, tables); err != nil {
			return wire.Freed{}, l.name(s, err)
		}
	}
	return all, nil
}
