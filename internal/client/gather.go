package client

import (
	"context"
	"fmt"

	"github.com/gofleet/gofleet/internal/wire"
)

// Gather gives every worker what each of them sent, by worker index; nothing stands for a worker that is gone. It returns
// when all have called it with that name as often as this one.
func (c *Client) Gather(ctx context.Context, name string, data []byte) ([][]byte, error) {
	c.mu.Lock()
	c.gathers[name]++
	n := c.gathers[name]
	c.mu.Unlock()
	var all wire.Gathered
	if err := c.control(ctx, 0, wire.OpGather, wire.Gather{Name: name, N: n, Data: data}, &all); err != nil {
		return nil, fmt.Errorf("gathering %q: %w", name, err)
	}
	return all.Data, nil
}
