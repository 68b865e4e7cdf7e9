package client

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/wire"
)

// Barrier implements [backend.Trainer].
func (c *Client) Barrier(ctx context.Context) error {
	_, err := c.Gather(ctx, "BarrierWorker", nil)
	return err
}

// Gather implements [backend.Trainer]: workers meet at server 0. In mode geo this worker's copy is then what the
// servers have, with what all have trained.
func (c *Client) Gather(ctx context.Context, call string, data []byte) ([][]byte, error) {
	if err := c.settle(ctx); err != nil {
		return nil, err
	}
	if err := c.EndEpoch(ctx); err != nil {
		return nil, err
	}
	all, err := c.gathers.gather(ctx, call, data)
	if err == nil {
		err = c.sessions.Refresh(ctx)
	}
	return all, err
}

// gathering is how workers meet at server 0.
type gathering struct {
	link    *link
	workers int
	most    int                                     // bytes of a round that all workers bring together
	renew   func(context.Context, wire.Loads) error // for what servers have loaded since
	made    atomic.Uint64
	behind  uint64 // that lives before have made
	left    atomic.Pointer[[]uint32]
}

// Stopped are the workers that had stopped as they should when the last collective ended.
func (c *Client) Stopped() (all []int) {
	if left := c.gathers.left.Load(); left != nil {
		for w, life := range *left {
			if life > 0 {
				all = append(all, w)
			}
		}
	}
	return all
}

// CatchUp leaves out the collectives that lives of this worker before have made, and says how many these were.
func (c *Client) CatchUp() int {
	g := &c.gathers
	if made := g.made.Load(); made < g.behind {
		g.made.Store(g.behind)
		return int(g.behind - made)
	}
	return 0
}

// gather gives every worker what each of them sent, by worker index; nothing stands for a worker that is gone. It
// returns when all have called it as often as this one. Workers whose call differs are all refused.
//
// What is too large for a frame, here or on another worker, goes in several rounds: everybody takes part until the last
// one has sent all. Of a worker that is gone before that there is nothing.
func (g *gathering) gather(ctx context.Context, call string, data []byte) ([][]byte, error) {
	all, most := make([][]byte, g.workers), g.room()
	for round := 0; ; round++ {
		part := data[:min(len(data), most)]
		data = data[len(part):]
		got, err := g.round(ctx, wire.Gather{Call: call, Data: part, More: len(data) > 0})
		if err != nil && round == 0 && !isRefusal(err) {
			g.made.Add(^uint64(0)) // the next attempt is at the same collective: others may have its answer
		}
		if err == nil {
			err = g.renew(ctx, got.Loads)
		}
		if err != nil {
			return nil, err
		}
		for w, part := range got.Data {
			switch {
			case round == 0:
				all[w] = part
			case part == nil: // who takes part in a later round sends something, be it empty
				all[w] = nil
			default:
				all[w] = append(all[w], part...)
			}
		}
		if len(got.More) == 0 {
			return all, nil
		}
		if data == nil {
			data = []byte{}
		}
	}
}

// room is how much of a worker's part one round has room for: as text of JSON the parts of all workers make a frame.
func (g *gathering) room() int { return max(g.most/g.workers, 1<<10) }

func (g *gathering) round(ctx context.Context, part wire.Gather) (all wire.Gathered, err error) {
	part.N = g.made.Add(1)
	defer g.link.waits.watch(0)()
	if err := g.link.control(ctx, 0, wire.OpGather, part, &all); err != nil {
		return all, err
	}
	g.left.Store(&all.Left)
	if len(all.Data) != g.workers {
		return all, fmt.Errorf("server 0 answered for %d workers, this job has %d", len(all.Data), g.workers)
	}
	return all, nil
}
