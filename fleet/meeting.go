package fleet

import (
	"context"
	"fmt"

	"github.com/gofleet/gofleet/internal/collective"
)

// group is how the workers of a collective job meet between steps.
func (f *Fleet) group(ctx context.Context, call string) (*collective.Group, error) {
	if f.replica == nil {
		return nil, fmt.Errorf("fleet: %s: call Minimize and InitWorker first: %w", call, ErrOrder)
	}
	g, err := f.replica.Group(ctx)
	return g, f.explain(call, err)
}

// gather gives every worker what each gave, by index; nil stands for a worker that is gone. like is what else must be the same on all
// workers, for servers; a group compares it by itself.
func (f *Fleet) gather(ctx context.Context, call, like string, data []byte) ([][]byte, error) {
	if !f.IsWorker() {
		return nil, fmt.Errorf("fleet: %s: this is %v, and workers meet: %w", call, f, ErrRole)
	}
	if err := f.pushRest(ctx); err != nil {
		return nil, f.explain(call, err)
	}
	switch {
	case f.IsLocal():
		return [][]byte{data}, nil
	case f.IsCollective():
		g, err := f.group(ctx, call)
		if err != nil {
			return nil, err
		}
		all, err := g.AllGather(ctx, data)
		return all, f.explain(call, err)
	}
	c, err := f.joined(call)
	if err != nil {
		return nil, err
	}
	if err = c.EndEpoch(ctx); err != nil {
		return nil, fmt.Errorf("fleet: %s: %w", call, err)
	}
	all, err := c.Gather(ctx, call+like, data)
	if err != nil {
		return nil, fmt.Errorf("fleet: %s: %w", call, err)
	}
	return all, nil
}
