package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/gofleet/gofleet/internal/wire"
)

// Barrier implements [backend.Trainer]. In mode geo this worker's copy is then what the servers have.
func (c *Client) Barrier(ctx context.Context) error {
	if err := errors.Join(c.settle(ctx), c.EndEpoch(ctx)); err != nil {
		return err
	}
	if _, err := c.gather(ctx, "BarrierWorker", nil); err != nil {
		return err
	}
	return c.refresh(ctx)
}

// Gather implements [backend.Trainer]: workers meet at server 0.
func (c *Client) Gather(ctx context.Context, call string, data []byte) ([][]byte, error) {
	if err := c.EndEpoch(ctx); err != nil {
		return nil, err
	}
	return c.gather(ctx, call, data)
}

// gather gives every worker what each of them sent, by worker index; nothing stands for a worker that is gone. It returns
// when all have called it as often as this one. Workers whose call differs are all refused.
func (c *Client) gather(ctx context.Context, call string, data []byte) ([][]byte, error) {
	n := c.gathers.Add(1)
	var all wire.Gathered
	if err := c.link.control(ctx, 0, wire.OpGather, wire.Gather{N: n, Call: call, Data: data}, &all); err != nil {
		return nil, err
	}
	if len(all.Data) != c.Workers {
		return nil, fmt.Errorf("server 0 answered for %d workers, this job has %d", len(all.Data), c.Workers)
	}
	return all.Data, nil
}
