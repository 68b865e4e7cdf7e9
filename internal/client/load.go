package client

import (
	"context"
	"encoding/json"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/wire"
)

// Load implements [backend.Trainer]. In one cut between steps every server reads what it owns of the directory beside
// its tables, all must have found the same there, and then all take it. What fails before that leaves everything as it
// was; what was begun then is finished, whichever process dies, or the job goes back to its last checkpoint.
func (c *Client) Load(ctx context.Context, dir string, what checkpoint.Selection) error {
	if c.stage.Load() != joined {
		return backend.ErrNotJoined
	}
	dir, err := files.Abs(dir) // servers have working directories of their own
	if err == nil {
		err = checkpoint.CheckParams(c.Layout.Params, what.Params...)
	}
	if err != nil {
		return err
	}
	done, err := c.turn(ctx, "loading")
	if err != nil {
		return err
	}
	defer done()
	said, err := c.cuts.lead(ctx, call{plan: cut.Plan{cut.Read, cut.Take},
		with: wire.Cutting{Load: dir, Params: what.Params, Worker: c.Worker}})
	if err != nil {
		return err
	}
	var now wire.Loads
	if err := json.Unmarshal(said[0], &now); err != nil {
		return c.link.name(0, err)
	}
	return c.after(ctx, c.renew(context.WithoutCancel(ctx), now)) // servers have loaded, whatever the context says
}

// renew has this worker's next steps begin with what the servers have now, frozen values too if they have loaded any
// since it last did; threads that have made no step count on where the loaded ones were. now is what a server has
// answered. Load, and each meeting of workers, calls it: a worker that did not load learns of it there.
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
	if err == nil { // else the next meeting brings them
		c.loads.Store(now.Frozen)
	}
	return err
}
