package server

import (
	"context"
	"errors"
	"time"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/peer"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/wire"
)

// Each server looks for the newest checkpoint by itself, so that tables are filled before the server serves, and
// servers may start in any order. Two servers may find different checkpoints: a directory listing arrives late on
// another machine, or a process of the run before has saved once more meanwhile. The checkpoint of server 0 counts.
// Server 0 names it when it sends the key of the generation, without which no worker can join a server.

// loader fills the tables from one of the job's own checkpoints.
type loader func(ctx context.Context, dir string) (checkpoint.Manifest, error)

// following begins from one of the job's own checkpoints: the newest, or another that server 0 has begun from. resume
// sets load, before Run; patience bounds follow.
type following struct {
	*recovery
	load     loader // nil if the job has no checkpoints of its own
	patience time.Duration
}

// resume loads the newest whole checkpoint, if there is one. load fills the tables from one directory, and is kept for
// follow.
func (c *following) resume(ctx context.Context, load loader) (found bool, err error) {
	c.load = load
	return c.series.Resume(ctx, func(dir string) error { return c.resumeFrom(ctx, dir, load) })
}

// follow makes this server begin from the checkpoint that server 0 has begun from, if it found another itself. It waits
// for one that is not visible yet. It is called once, by the goroutine that reports to server 0, before any worker can
// join. An error ends the job, unless ctx has ended: then it is ctx's cause.
func (c *following) follow(ctx context.Context, first wire.Base) error {
	switch {
	case first == c.base:
		return nil
	case first.ID == "" || c.load == nil || files.Base(first.Name) != first.Name:
		return wire.Refuse(wire.StatusFailed, "server %d has begun from %v, server 0 from %v: let all servers see the "+
			"same directory %s, and start all roles again", c.index, c.base, first, c.series.Dir)
	}
	dir := files.Join(c.series.Dir, first.Name)
	c.log.Warn("begins anew, from the checkpoint that server 0 has begun from", "dir", dir, "instead of", c.base,
		"waits at most", c.patience)
	if err := c.loadNamed(ctx, dir, first.ID); err != nil && ctx.Err() == nil {
		return wire.Refuse(wire.StatusFailed, "server %d can't load %v within %v, from which server 0 has begun: %v: "+
			"let all servers see the same directory %s, and start all roles again", c.index, first, c.patience,
			err, c.series.Dir)
	}
	return context.Cause(ctx)
}

// loadNamed loads a checkpoint, repeatedly until it is whole or patience ends, and begins the journal anew from it. why
// is the last error that is not just the end of the wait.
func (c *following) loadNamed(ctx context.Context, dir, id string) (why error) {
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	return peer.Repeat(ctx, state.Pauses, func() (peer.Verdict, error) {
		err := source{Dir: dir, ID: id}.whole()
		if err == nil {
			err = c.resumeFrom(ctx, dir, c.load)
		}
		if why == nil || !errors.Is(err, context.DeadlineExceeded) {
			why = err
		}
		if err == nil {
			return peer.Done, c.segments.begins()
		}
		return peer.Pause, why
	})
}

// resumeFrom loads a checkpoint from which the job goes on.
func (c *following) resumeFrom(ctx context.Context, dir string, load loader) error {
	m, err := load(ctx, dir)
	if err == nil {
		c.resumed(dir, m)
	}
	return err
}

// resumed records the checkpoint that was loaded: progress is sent to workers that join, and base by server 0 to the
// other servers.
func (c *following) resumed(dir string, m checkpoint.Manifest) {
	c.base = wire.Base{Name: files.Base(dir), ID: m.ID}
	if m.Progress != nil {
		c.goOn(dir, &m)
	}
}
