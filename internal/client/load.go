package client

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/wire"
)

// loading is how servers that run load a checkpoint.
type loading struct {
	link   *link
	cuts   *cuts
	frozen atomic.Int64 // how often they have, as far as this worker has seen, with frozen values in it
}

// Load implements [backend.Trainer]. In one cut between steps every server reads what it owns of the directory beside
// its tables, all must have found the same there, and then all take it. What fails before that leaves everything as it
// was; when this worker dies in the middle of the taking, or loses a server, the job goes back to its last checkpoint.
func (c *Client) Load(ctx context.Context, dir string, what checkpoint.Selection) error {
	if c.stage.Load() != joined {
		return backend.ErrNotJoined
	}
	if mode.Of(c.Strategy.Mode).Copies {
		return errors.New("in mode geo every worker trains a copy of the tables, which servers can't replace: " +
			"stop the job and start it with Restore")
	}
	dir, err := filepath.Abs(dir) // servers have working directories of their own
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
	now, err := c.loading.load(ctx, wire.Load{ID: c.cuts.id(), Dir: dir, Params: what.Params})
	if err != nil {
		return err
	}
	return c.renew(ctx, now)
}

// load has the servers load, in a cut that is kept until all have taken what they have read.
func (o *loading) load(ctx context.Context, msg wire.Load) (now wire.Loads, err error) {
	cut := wire.Save{ID: msg.ID, Read: true}
	defer func() {
		if err != nil {
			o.cuts.abandon(ctx, cut)
		}
	}()
	if cut.Steps, _, err = o.cuts.freeze(ctx, &cut); err != nil {
		return now, err
	}
	if err := o.cuts.reach(ctx, &cut, func(int) any { return nil }); err != nil {
		return now, err
	}
	if err := o.agreed(ctx, msg); err != nil {
		return now, err
	}
	ctx = context.WithoutCancel(ctx) // half of it would be two models
	msg.Take = true
	if _, err := o.tell(ctx, msg); err != nil {
		return now, err
	}
	all, err := o.tell(ctx, wire.Load{ID: msg.ID, End: true})
	return all[0].Loads, err
}

// tell sends a message about a load to all servers, and returns their answers.
func (o *loading) tell(ctx context.Context, msg wire.Load) ([]wire.Loaded, error) {
	all := make([]wire.Loaded, len(o.link.servers))
	return all, o.link.together(func(s int) error { return o.link.control(ctx, s, wire.OpLoad, msg, &all[s]) })
}

// agreed has all servers read the directory, in which they must find the same.
func (o *loading) agreed(ctx context.Context, msg wire.Load) error {
	found, err := o.tell(ctx, msg)
	if err != nil {
		return err
	}
	for s, f := range found {
		if f.Origin != found[0].Origin {
			return fmt.Errorf("server %d finds %s in %s, server 0 %s: all servers must see the same directory, and "+
				"nothing may be saved there meanwhile", s, f.Origin, msg.Dir, found[0].Origin)
		}
	}
	return nil
}

// renew has this worker's next steps begin with what the servers have now, frozen values too if they have loaded any
// since it last did; threads that have made no step count on where the loaded ones were.
func (c *Client) renew(ctx context.Context, now wire.Loads) error {
	c.sessions.Met()
	c.reading.Count(now.Counted)
	c.reading.After(now.Steps)
	if c.loading.frozen.Swap(now.Frozen) == now.Frozen {
		return nil
	}
	return c.frozen.bring(ctx)
}
