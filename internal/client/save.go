package client

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/wire"
)

// Save implements [backend.Trainer]. It makes the servers write a checkpoint of one cut to dir, which all of them must
// see: the same steps of every worker are in all its parts, and all steps that this worker has made. When dir has a
// checkpoint of that very step already, because another worker has saved it, there is nothing to do.
func (c *Client) Save(ctx context.Context, dir string, params ...string) error {
	dir, err := filepath.Abs(dir) // servers have working directories of their own
	if err == nil {
		err = checkpoint.CheckParams(c.Layout.Params, params...)
	}
	if err != nil {
		return err
	}
	return c.write(ctx, call{dir: dir, with: wire.Cutting{Params: slices.Sorted(slices.Values(params))},
		held: func(id string) (any, error) { return nil, c.frozen.keep(ctx, id) }})
}

// write makes the servers write a checkpoint. When they write what they have taken, this worker's steps may go on.
func (c *Client) write(ctx context.Context, save call) error {
	save.plan = cut.Plan{cut.Write, cut.Commit}
	err := c.cuts.repeat(func() error {
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
		return fmt.Errorf("saving %s: %w", cmp.Or(save.dir, "a checkpoint"), err)
	}
	return nil
}

// saving is how servers write one checkpoint.
type saving struct {
	link   *link
	cuts   *cuts
	frozen *frozen
}

// once makes one attempt, in a cut of its own. When servers write what they have taken, it calls taken: this worker's
// steps may go on.
func (s *saving) once(ctx context.Context, msg wire.Save, complete func(*wire.Save), taken func()) error {
	msg.ID = s.cuts.id()
	if err := s.claim(ctx, &msg); err != nil {
		return err
	}
	err := s.save(ctx, &msg, complete, taken)
	if err != nil {
		s.cuts.abandon(ctx, wire.Save{ID: msg.ID, Dir: msg.Dir})
	}
	return err
}

// claim has server 0 take the directory that this worker names for the job, before anybody waits for a cut.
func (s *saving) claim(ctx context.Context, msg *wire.Save) error {
	if msg.Dir == "" {
		return nil
	}
	return s.link.control(ctx, 0, wire.OpPlace, wire.Save{ID: msg.ID, Dir: msg.Dir}, new(wire.Save))
}

func (s *saving) save(ctx context.Context, msg *wire.Save, complete func(*wire.Save), taken func()) error {
	steps, before, err := s.cuts.freeze(ctx, msg)
	if err != nil || before != nil {
		return err
	}
	complete(msg)
	if err := s.frozen.keep(ctx, msg.ID); err != nil {
		return err
	}
	if err := s.place(ctx, msg); err != nil {
		return err
	}
	msg.Steps = steps
	if err := s.cuts.reach(ctx, msg, func(int) any { return nil }); err != nil {
		return err
	}
	taken()
	if msg.Parts, err = s.parts(ctx, msg.ID); err != nil {
		return err
	}
	return s.cuts.commit(ctx, msg)
}

// parts waits until all servers have written theirs.
func (s *saving) parts(ctx context.Context, id string) ([]wire.Part, error) {
	all := make([]wire.Part, len(s.link.servers))
	err := s.link.together(func(server int) error {
		return s.link.control(ctx, server, wire.OpPart, wire.Save{ID: id}, &all[server])
	})
	return all, err
}

// place has server 0 make a directory for a checkpoint of the job's own.
func (s *saving) place(ctx context.Context, msg *wire.Save) error {
	if msg.Dir != "" {
		return nil
	}
	var at wire.Save
	err := s.link.control(ctx, 0, wire.OpPlace, wire.Save{ID: msg.ID}, &at)
	msg.Dir = at.Dir
	return err
}
