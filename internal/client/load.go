package client

import (
	"context"
	"encoding/json"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/wire"
)

// Load implements [backend.Trainer]. In one cut between steps every server reads its part of the directory beside its
// tables; all must have found the same there; then all servers replace their weights. A failure before that leaves
// everything as it was. The replacement, once begun, is completed whichever process dies, or the job goes back to its
// last checkpoint.
func (c *Client) Load(ctx context.Context, dir string, what checkpoint.Selection) error {
	if c.stage.Load() != joined {
		return backend.ErrNotJoined
	}
	if err := checkpoint.CheckParams(c.Layout.Params, what.Params...); err != nil {
		return err
	}
	done, err := c.turn(ctx, "loading")
	if err != nil {
		return err
	}
	defer done()
	load := &cut.Load{Dir: dir, Params: what.Params, Worker: c.Worker}
	said, err := c.cuts.lead(ctx, call{task: cut.Task{Load: load}})
	if err != nil {
		return err
	}
	var now wire.Loads
	if err := json.Unmarshal(said[0], &now); err != nil {
		return c.link.name(0, err)
	}
	return c.after(ctx, c.renew(context.WithoutCancel(ctx), now)) // servers have loaded: ctx no longer matters
}

// renew has this worker's next steps begin with the servers' weights, and with their frozen values if they have loaded
// any since the last call. Threads that have made no step continue at the loaded positions. now is from a server's
// answer. Load and each collective call it: a worker that did not load learns of a load there.
func (c *Client) renew(ctx context.Context, now wire.Loads) error {
	c.sessions.Met()
	c.reading.Count(now.Counted)
	c.reading.After(now.Steps)
	if c.wholes.Swap(now.Whole) != now.Whole {
		c.sessions.Resume(mode.Round(now.Updates))
	}
	if c.loads.Load() == now.Frozen {
		return nil
	}
	err := c.frozen.bring(ctx)
	if err == nil { // else the next collective brings them
		c.loads.Store(now.Frozen)
	}
	return err
}
