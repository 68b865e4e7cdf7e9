package server

import (
	"fmt"
	"strings"

	"github.com/gofleet/gofleet/internal/wire"
)

// gathering has the collectives of workers, on server 0: each sends a blob and gets those of all. A barrier is a gather of
// nothing. The collectives under way are kept, and the last ones that are complete, for requests that come again.
//
// Workers number their collectives, and make them in the same order; the call, which each sends with its blob, holds them to
// that. A worker that has left or died is waited for no more. One that was started again alone makes its collectives from the first on:
// those that the others have behind them are answered at once, without what they brought.
type gathering struct {
	st       *state
	journal  *journaling
	byNumber map[uint64]*gathered
	order    []uint64
	past     uint64 // the highest that is over and forgotten
}

// gathered is one collective.
type gathered struct {
	n     uint64
	call  string // all that must be the same on every worker
	first int    // the worker that came first
	err   error  // says which workers made different calls
	data  [][]byte
	more  []int // workers whose parts go on
	have  []bool
	lives []uint32 // of the workers whose parts these are
	done  bool
}

// keepGathers is how many collectives are remembered; a worker has one under way at a time.
const keepGathers = 256

// handle collects a worker's blob and answers when all have come.
func (c *gathering) handle(f *wire.Frame, msg *wire.Gather, r *reply) error {
	c.st.lock.Lock()
	defer c.st.lock.Unlock()
	if err := c.st.sender(f); err != nil {
		return err
	}
	if c.byNumber[msg.N] == nil && msg.N <= c.past {
		return r.JSON(wire.Gathered{Data: make([][]byte, c.st.roster.Workers()), Loads: c.st.loads})
	}
	g := c.of(msg.N, msg.Call, int(f.Worker))
	if g.call != msg.Call {
		return c.differ(g, int(f.Worker), msg.Call)
	}
	if !g.have[f.Worker] {
		g.have[f.Worker], g.data[f.Worker], g.lives[f.Worker] = true, msg.Data, f.Life
		if msg.More {
			g.more = append(g.more, int(f.Worker))
		}
		if g.done { // without this worker
			c.journal.note(event{Gathered: g.record()})
		}
		c.st.lock.broadcast()
	}
	again := g.done && g.lives[f.Worker] != f.Life
	err := c.st.lock.await(func() bool { return g.err != nil || c.complete(g) && !(again && c.lacks(g)) },
		func() string { return fmt.Sprintf("at %s: missing %s", msg.Call, c.absentees(g)) })
	switch {
	case err != nil:
		return err
	case g.err != nil:
		return g.err
	}
	return r.JSON(wire.Gathered{Data: g.data, More: g.more, Loads: c.st.loads})
}

// differ refuses a collective in which a worker makes another call than the first, for all who are in it. Whoever has its answer
// keeps that. Locked.
func (c *gathering) differ(g *gathered, worker int, call string) error {
	err := wire.Refuse(wire.StatusRefused, "workers make different calls: worker %d is at %s, worker %d at %s: "+
		"all must make the same calls in the same order",
		g.first, g.call, worker, call)
	if !g.done && g.err == nil {
		g.err = err
		c.st.lock.broadcast()
	}
	return err
}

// complete says whether everybody who is still in the job has sent his part. Once it is, it stays so. Locked.
func (c *gathering) complete(g *gathered) bool {
	if !g.done {
		if c.lacks(g) {
			return false
		}
		g.done = true
		c.journal.note(event{Gathered: g.record()})
		c.release(g.n - 1)
	}
	return true
}

// lacks says whether somebody has not sent his part who is in the job: also one that was gone when the collective was complete, and whose
// next life comes to it. Another worker's life that comes to it again waits for that one. Locked.
func (c *gathering) lacks(g *gathered) bool {
	for w, have := range g.have {
		if !have && !c.st.roster.Gone(w) {
			return true
		}
	}
	return false
}

// absentees names the workers that have not come. Locked.
func (c *gathering) absentees(g *gathered) string {
	var names []string
	for w, have := range g.have {
		if !have {
			names = append(names, c.st.roster.Describe(w, c.st.clock.Now()))
		}
	}
	return strings.Join(names, ", ")
}

// release forgets what collective n brought: who has come to the next has its answer. So a server holds the data of two. Locked.
func (c *gathering) release(n uint64) {
	if past := c.byNumber[n]; past != nil {
		clear(past.data)
	}
}

// of is collective n, which begins with the first request for it. Locked.
func (c *gathering) of(n uint64, call string, worker int) *gathered {
	if found := c.byNumber[n]; found != nil {
		return found
	}
	if len(c.order) == keepGathers {
		c.past = max(c.past, c.order[0])
		delete(c.byNumber, c.order[0])
		c.order = c.order[1:]
	}
	workers := c.st.roster.Workers()
	made := &gathered{n: n, call: call, first: worker, data: make([][]byte, workers), have: make([]bool, workers),
		lives: make([]uint32, workers)}
	c.byNumber[n], c.order = made, append(c.order, n)
	return made
}
