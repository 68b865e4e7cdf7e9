package client

import (
	"context"
	"time"

	"github.com/gofleet/gofleet/internal/awake"
	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/wire"
)

// evict leads a cut in which the tables of all servers that are nearly full drop rows, if their params have an Evict.
// Server 0 asks for it in a heartbeat's answer. One is led at a time, and the next not before reports of all servers
// are of behind it. A cut that fails is asked for again.
func (c *Client) evict() {
	if c.stage.Load() != joined || c.link.leaving.Load() || c.evicting.Swap(true) {
		return
	}
	c.link.besides.run(func() {
		defer c.evicting.Store(false)
		if err := c.makeRoom(c.link.ctx); err != nil && c.link.ctx.Err() == nil {
			c.link.log.Warn("tables are nearly full, and have dropped no rows", "error", err)
		}
		_ = awake.Rest(c.link.ctx, 2*max(c.link.strategy.HeartbeatInterval.Std(), time.Millisecond))
	})
}

func (c *Client) makeRoom(ctx context.Context) error {
	done, err := c.turn(ctx, "making room in tables")
	if err != nil {
		return err
	}
	defer done()
	_, err = c.cuts.lead(ctx, call{task: cut.Task{Shrink: &cut.Shrink{Shrink: wire.Shrink{Evict: true}}}})
	return c.after(ctx, err)
}
