package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/wire"
)

// Save implements [backend.Trainer]. It makes the servers write a checkpoint of one cut to dir, which all of them must see: the same steps
// of every worker are in all its parts, and all steps that this worker has made. When dir has a checkpoint of that very step already,
// because another worker has saved it, there is nothing to do.
func (c *Client) Save(ctx context.Context, dir string, params ...string) error {
	dir, err := filepath.Abs(dir) // servers have working directories of their own
	if err == nil {
		err = checkpoint.CheckParams(c.Layout.Params, params...)
	}
	if err != nil {
		return err
	}
	return c.write(ctx, &wire.Save{Dir: dir, Params: slices.Sorted(slices.Values(params))}, func(*wire.Save) {})
}

// write makes the servers write a checkpoint. When they hold pushes, the message is completed.
func (c *Client) write(ctx context.Context, msg *wire.Save, complete func(*wire.Save)) error {
	if err := c.settle(ctx); err != nil {
		return err
	}
	done, err := c.sessions.InTurn(ctx, "saving")
	if err != nil {
		return err
	}
	defer done()
	for try := 1; ; try++ {
		now := *msg
		now.ID = c.saveID()
		if err = c.claim(ctx, &now); err == nil {
			if err = c.save(ctx, &now, complete); err != nil {
				c.abandon(wire.Save{ID: now.ID, Dir: now.Dir})
			}
		}
		switch {
		case err == nil:
			return nil
		case try < mostSaves && c.Strategy.Recovery.Journal != "" && errors.Is(err, wire.ErrStale):
			c.link.log.Info("a save is made anew, since a server was started again meanwhile", "said", err)
		default:
			return fmt.Errorf("saving %s: %w", cmp.Or(msg.Dir, "a checkpoint"), err)
		}
	}
}

// mostSaves is how often a save is begun that servers know nothing of, since they were started again in the middle of it.
const mostSaves = 5

// saveID names a save of this worker apart from all others.
func (c *Client) saveID() string {
	return fmt.Sprintf("%s-%d-%d", strconv.FormatInt(time.Now().UnixNano(), 36), c.Worker, c.saves.Add(1))
}

func (c *Client) save(ctx context.Context, msg *wire.Save, complete func(*wire.Save)) error {
	steps, before, err := c.freeze(ctx, *msg)
	if err != nil || before != nil {
		return err
	}
	complete(msg)
	if err := c.keep(ctx, msg.ID); err != nil {
		return err
	}
	if err := c.place(ctx, msg); err != nil {
		return err
	}
	msg.Steps = steps
	parts := make([]wire.Part, len(c.Servers))
	if err := c.link.together(func(s int) error { return c.link.control(ctx, s, wire.OpSave, msg, &parts[s]) }); err != nil {
		return err
	}
	msg.Parts = parts
	return c.link.control(ctx, 0, wire.OpCommit, msg, nil)
}

// freeze begins a cut on all servers and returns the steps it is to hold; or what server 0 says when another worker has done
// at this step what the cut is for.
func (c *Client) freeze(ctx context.Context, msg wire.Save) (steps []uint64, before *wire.Held, err error) {
	held := make([]wire.Held, len(c.Servers))
	for s := range c.Servers { // server 0 first: it lets one through at a time
		if err := c.link.control(ctx, s, wire.OpFreeze, msg, &held[s]); err != nil {
			return nil, nil, err
		}
		if held[s].Saved {
			return nil, &held[s], nil
		}
	}
	return furthest(held), nil, nil
}

// abandon lets pushes go on after a save that failed. Parts that were written are removed when it is sure that nobody commits them: they
// would take the room that the next save needs.
func (c *Client) abandon(msg wire.Save) {
	ctx, cancel := context.WithTimeout(c.link.ctx, c.Strategy.WorkerTimeout.Std())
	defer cancel()
	msg.Abandon = true
	end := func(s int) error { return c.link.control(ctx, s, wire.OpCommit, msg, nil) }
	if err := c.link.together(end); err != nil {
		if !errors.Is(err, wire.ErrWentBack) { // else the job is over, as other messages say
			c.link.log.Warn("a failed save still holds pushes", "error", err)
		}
		return
	}
	if msg.Discard = msg.Shrink == nil && !msg.Read; msg.Discard {
		if err := c.link.together(end); err != nil {
			c.link.log.Warn("parts of a failed save may be left", "dir", msg.Dir, "error", err)
		}
	}
}

// furthest is, for each worker, the last step that any server has.
func furthest(held []wire.Held) []uint64 {
	var steps []uint64
	for _, f := range held {
		if steps == nil {
			steps = make([]uint64, len(f.Steps))
		}
		for w := range min(len(steps), len(f.Steps)) {
			steps[w] = max(steps[w], f.Steps[w])
		}
	}
	return steps
}
