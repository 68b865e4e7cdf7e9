package client

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/gofleet/gofleet/internal/wire"
)

// Barrier implements [backend.Trainer]. It returns when every worker that is still in the job has called it as often as
// this one, or with an error that says why that can't be.
func (c *Client) Barrier(ctx context.Context) error {
	_, err := c.Gather(ctx, wire.Barrier, nil)
	return err
}

// Gather implements [backend.Trainer]: workers exchange data through server 0. It settles first, so that what this
// worker has trained is on the servers before other workers continue. In mode geo this worker's copy then becomes the
// servers' weights, with what all workers have trained. call must be the same on all workers. The result has one blob
// for each worker, by index, nil for a worker that is gone; the caller may keep it.
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

// gathering makes collectives of all workers at server 0: barriers and gathers.
type gathering struct {
	link    *link
	workers int
	most    int // bytes of all workers' parts in one round
	// renew updates this worker to what servers have loaded meanwhile, which the answer of every round says.
	renew func(context.Context, wire.Loads) error
	// trained returns the steps of this process. made is the number of this worker's collectives, with those of earlier
	// lives once CatchUp has skipped them. behind is the number of those, as server 0 reported when this life joined.
	trained func() int64
	made    atomic.Uint64
	behind  uint64
	// givenUp is the last collective if this worker has received no answer to it, else nil.
	givenUp atomic.Pointer[attempt]
	// asked is one more than the number of the last message on the job's epochs.
	asked atomic.Uint64
	// place is that of the last order in the job's epochs.
	place atomic.Uint64
}

// attempt is a collective that this worker has given up: its context ended, or server 0 was not reached.
type attempt struct {
	call  string
	data  []byte
	made  uint64 // collectives before it
	steps int64
}

// CatchUp skips the collectives that this worker's earlier lives have made, and returns their number. A restarted
// worker calls it if its program continues behind those collectives; its next call is then the first that the other
// workers have not made either.
func (c *Client) CatchUp() int {
	g := &c.gathers
	if made := g.made.Load(); made < g.behind {
		g.made.Store(g.behind)
		g.givenUp.Store(nil)
		return int(g.behind - made)
	}
	return 0
}

// met returns how many collectives this worker has completed, without one that was given up, and orders in the job's
// epochs. Ends of periods carry the number, by which server 0 tells apart two periods with equal steps.
func (g *gathering) met() uint64 {
	if last := g.givenUp.Load(); last != nil {
		return last.made + g.place.Load()
	}
	return g.made.Load() + g.place.Load()
}

// gather makes a collective and returns the data of all workers, by index; nil for a worker that is gone. It returns
// when all workers have called it as often as this one. If workers' calls differ, all get an error. A collective that
// was given up is made again if the next call is the same, with no other call or step between.
func (g *gathering) gather(ctx context.Context, call string, data []byte) ([][]byte, error) {
	now := &attempt{call: call, data: data, steps: g.trained()}
	if last := g.givenUp.Swap(nil); last != nil && last.is(now) {
		g.made.Store(last.made)
	}
	now.made = g.made.Load()
	all, err := g.rounds(ctx, call, data)
	if err != nil && !isRefusal(err) {
		now.data = bytes.Clone(data)
		g.givenUp.Store(now)
	}
	return all, err
}

// is reports whether next is the same collective as a, which other workers may have completed: the same call and data,
// and no step between. A barrier's data may differ, since it is the worker's statistics, which may have changed.
func (a *attempt) is(next *attempt) bool {
	return a.call == next.call && a.steps == next.steps &&
		(a.call == wire.Barrier || bytes.Equal(a.data, next.data))
}

// rounds gathers in as many rounds as the largest data of any worker needs: each worker takes part in each round until
// all data were sent. A worker that is gone before the last round has no data in the result. Each round is one numbered
// collective of server 0. The first error ends it.
func (g *gathering) rounds(ctx context.Context, call string, data []byte) ([][]byte, error) {
	all, most := make([][]byte, g.workers), g.room()
	for round := 0; ; round++ {
		part := data[:min(len(data), most)]
		data = data[len(part):]
		got, err := g.round(ctx, wire.Gather{Call: call, Data: part, More: len(data) > 0})
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
			case part == nil: // a worker that takes part in a later round sends a part, perhaps an empty one
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

// room returns the most bytes of a worker's part in one round: the parts of all workers, as JSON text, must fit a
// frame.
func (g *gathering) room() int { return max(g.most/g.workers, 1<<10) }

// round makes one numbered collective at server 0, which answers when every worker in the job has sent its part. The
// number grows even if the request fails: gather takes it back if the same call comes again.
func (g *gathering) round(ctx context.Context, part wire.Gather) (all wire.Gathered, err error) {
	part.N = g.made.Add(1)
	defer g.link.waits.watch(0, time.Now()).stop()
	if err := g.link.control(ctx, 0, wire.OpGather, part, &all); err != nil {
		return all, err
	}
	if len(all.Data) != g.workers {
		return all, fmt.Errorf("server 0 answered for %d workers, this job has %d", len(all.Data), g.workers)
	}
	return all, nil
}
