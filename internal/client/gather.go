package client

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/wire"
)

// Barrier implements [backend.Trainer]. It returns when every worker that is still in the job has called it as often as
// this one, or with why that can't be.
func (c *Client) Barrier(ctx context.Context) error {
	_, err := c.Gather(ctx, wire.Barrier, nil)
	return err
}

// Gather implements [backend.Trainer]: workers meet at server 0. In mode geo this worker's copy is then what the
// servers have, with what all have trained. It settles first, so that what this worker has trained is on the servers
// before others go on. call must be the same on all workers. The result has one blob a worker, by index, nil for a
// worker that is gone; the caller may keep it.
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
	most    int // bytes of a round that all workers bring together
	// renew brings this worker to what servers have loaded while it was not looking. Every round's answer says what
	// that is.
	renew func(context.Context, wire.Loads) error // for what servers have loaded since
	// trained counts the steps of this process, and made the collectives of this worker, with those of lives before
	// once CatchUp has left them out. behind is how many lives before have made, as server 0 said when this life
	// joined.
	trained func() int64 // steps
	made    atomic.Uint64
	behind  uint64 // that lives before have made
	// givenUp is the last collective if this worker has no answer to it, else nil.
	givenUp atomic.Pointer[attempt]
	// left are, by worker, the lives that had stopped at the last collective, 0 for a worker that had not.
	left atomic.Pointer[[]uint32]
}

// attempt is a collective that this worker has given up: its context ended, or server 0 was not reached.
type attempt struct {
	call  string
	data  []byte
	made  uint64 // collectives before it
	steps int64
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

// CatchUp leaves out the collectives that lives of this worker before have made, and says how many these were. A worker
// that was started again calls it where its program begins behind collectives that it has made before; the next call is
// then the first that others have not made either.
func (c *Client) CatchUp() int {
	g := &c.gathers
	if made := g.made.Load(); made < g.behind {
		g.made.Store(g.behind)
		g.givenUp.Store(nil)
		return int(g.behind - made)
	}
	return 0
}

// met is how many collectives this worker has behind it. What was given up is not behind it. Ends of periods carry the
// number, by which server 0 tells two periods with equal steps apart.
func (g *gathering) met() uint64 {
	if last := g.givenUp.Load(); last != nil {
		return last.made
	}
	return g.made.Load()
}

// gather gives every worker what each of them sent, by worker index; nothing stands for a worker that is gone. It
// returns when all have called it as often as this one. Workers whose call differs are all refused. What was given up,
// and is called again before another call or step, is the same collective.
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

// is says whether the next call is at the same collective, of which others may have the answer: the very same call,
// with no step between. A barrier's bytes are its worker's statistics, which may have changed.
func (a *attempt) is(next *attempt) bool {
	return a.call == next.call && a.steps == next.steps &&
		(a.call == wire.Barrier || bytes.Equal(a.data, next.data))
}

// rounds gathers. What is too large for a frame, here or on another worker, goes in several rounds: everybody takes
// part until the last one has sent all. Of a worker that is gone before that there is nothing. Each round is one
// numbered collective of server 0. It ends with the first error.
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

// round makes one numbered collective at server 0, which answers when every worker in the job has sent its part. The
// number goes up also where the request fails: gather puts it back if the same call comes again.
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
