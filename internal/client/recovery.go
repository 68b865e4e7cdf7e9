package client

import (
	"context"
	"fmt"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/peer"
	"github.com/gofleet/gofleet/internal/wire"
)

// Saves implements [backend.Trainer]. It asks server 0, which knows the workers that live. For a last save, and if this
// process is about to end, it pushes everything that this worker has first, since server 0 counts a worker's steps by
// its pushes. It waits while server 0 asks it to: another worker that ends may save everything.
func (c *Client) Saves(ctx context.Context, last bool) (bool, error) {
	if err := c.known(); err != nil {
		return false, err
	}
	if last || c.link.hurried.Load() {
		if err := c.settle(ctx); err != nil {
			return false, err
		}
	}
	var answer wire.Saver
	beat := c.link.strategy.HeartbeatInterval.Std()
	err := peer.Repeat(ctx, peer.Pauses{First: beat / 4, Last: beat}, func() (peer.Verdict, error) {
		answer = wire.Saver{}
		err := c.link.control(ctx, 0, wire.OpSaver, wire.Saver{Last: last, Ends: c.link.hurried.Load()}, &answer)
		if err == nil && answer.Wait {
			return peer.Pause, nil
		}
		return peer.Done, err
	})
	if err != nil {
		return false, fmt.Errorf("asking who saves: %w", err)
	}
	c.link.late.Store(answer.Late)
	return answer.Yours, nil
}

// Hurry implements [backend.Hurried]. Heartbeats and the goodbye report it to servers, and requests give up sooner on a
// server where nothing listens.
func (c *Client) Hurry(ends bool) { c.link.hurried.Store(ends) }

// Late implements [backend.Hurried].
func (c *Client) Late() bool { return c.link.late.Load() }

// Asked implements [backend.Trainer]. The channel receives when server 0 asks this worker for a checkpoint.
func (c *Client) Asked() <-chan struct{} { return c.link.asked }

// Checkpoint implements [backend.Trainer]. The servers write into a directory that server 0 makes. If another worker
// has saved this very step with this progress, nothing is written. progressed is called twice: at the start, to
// identify the call, and when all servers hold pushes, for what the checkpoint records. Checkpoint returns when the
// checkpoint is complete.
func (c *Client) Checkpoint(ctx context.Context, progressed func() checkpoint.Progress,
	frozen func() map[string][]float32) error {
	asked := wire.Progress(progressed())
	return c.write(ctx, &cut.Save{Progress: &asked}, func(id string, save *cut.Save) error {
		now := wire.Progress(progressed())
		save.Progress = &now
		return c.frozen.keep(ctx, id, frozen())
	})
}

// Progress implements [backend.Trainer].
func (c *Client) Progress() checkpoint.Progress { return c.progress }

// Begin implements [backend.Trainer]. Server 0 keeps it, for a process that takes this one's place.
func (c *Client) Begin(p checkpoint.Progress) error {
	if c.stage.Load() == joined && !c.link.leaving.Load() {
		msg := wire.Begin{Progress: wire.Progress(p), At: c.reading.All(), Was: c.reading.Epoch()}
		if err := c.link.control(c.link.ctx, 0, wire.OpBegin, msg, nil); err != nil {
			return err
		}
	}
	c.reading.Begin(p.Epoch)
	return nil
}
