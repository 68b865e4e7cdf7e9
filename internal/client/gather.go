package client

import (
	"context"
	"fmt"

	"github.com/gofleet/gofleet/internal/wire"
)

// Gather gives every worker what each of them sent, by worker index; nothing stands for a worker that is gone. It returns
// when all have called it as often as this one. Workers whose call differs are all refused.
func (c *Client) Gather(ctx context.Context, call string, data []byte) ([][]byte, error) {
	n := c.gathers.Add(1)
	var all wire.Gathered
	if err := c.control(ctx, 0, wire.OpGather, wire.Gather{N: n, Call: call, Data: data}, &all); err != nil {
		return nil, err
	}
	if len(all.Data) != c.c.Workers {
		return nil, fmt.Errorf("server 0 answered for %d workers, this job has %d", len(all.Data), c.c.Workers)
	}
	return all.Data, nil
}
