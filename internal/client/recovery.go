package client

import (
	"context"
	"fmt"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/peer"
	"github.com/gofleet/gofleet/internal/wire"
)

// Saves implements [backend.Trainer]: server 0 knows who lives. For a last save, and where this process is about to
// end, everything that this worker has is pushed first: server 0 knows of a worker's steps by its pushes. It waits
// while server 0 asks it to, for a worker before it that ends too and may save everything.
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

// Hurry implements [backend.Hurried]. Heartbeats and the goodbye say so to servers, and requests give up sooner a
// server where nothing listens.
func (c *Client) Hurry(ends bool) { c.link.hurried.Store(ends) }

// Late implements [backend.Hurried].
func (c *Client) Late() bool { return c.link.late.Load() }

// Asked implements [backend.Trainer]: server 0 asks the worker that saves.
func (c *Client) Asked() <-chan struct{} { return c.link.asked }

// Checkpoint implements [backend.Trainer]: the servers write into a directory that server 0 makes. When another worker
// has saved this very step with this progress, there is nothing to do. progressed is called twice: for the call's
// identity, and when all servers hold, for what the checkpoint says. It returns when the checkpoint is whole.
func (c *Client) Checkpoint(ctx context.Context, progressed func() checkpoint.Progress) error {
	asked := wire.Progress(progressed())
	return c.write(ctx, call{with: wire.Cutting{Progress: &asked}, held: func(id string) (any, error) {
		return wire.Progress(progressed()), c.frozen.keep(ctx, id)
	}})
}

// Progress implements [backend.Trainer].
func (c *Client) Progress() checkpoint.Progress { return c.progress }
