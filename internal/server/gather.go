package server

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/wire"
)

// gathering has the collectives of workers, on server 0: each sends a blob and gets the blobs of all. A barrier is a
// gather of nothing. The collectives under way are kept, and the last ones that are complete, for requests that come
// again.
//
// Workers number their collectives, and make them in the same order; the call, which each sends with its blob, holds
// them to that. A worker that has left or died is waited for no more. One that was started again alone makes its
// collectives from the first on: the ones that the others have behind them are answered at once, with what all brought
// as long as that is little, and refused where it was forgotten.
type gathering struct {
	st     *state.Job
	roster *roster.Roster
	ended  state.Event[gatherRecord]
	// byNumber has the collectives of order, which are the last keepGathers that were begun, oldest first.
	byNumber map[uint64]*gathered
	order    []uint64
	past     uint64 // the highest that is over and not in byNumber
	silent   uint64 // up to which no worker brought anything to them
}

// gathered is one collective. It is complete when each worker in the job has sent its part, and stays in the list after
// that for requests that come again.
type gathered struct {
	// n is the number that workers give their collectives, from 1 on.
	n     uint64
	call  string // all that must be the same on every worker
	first int    // the worker that came first
	err   error  // says which workers made different calls
	// data is what was brought, by worker: nil of a worker that has brought nothing yet, or is gone.
	data [][]byte
	more []int // workers whose parts go on
	// have says, by worker, who has come.
	have  []bool
	lives []uint32 // of the workers whose parts these are
	// done says that all who were in the job have come, which stays so.
	done bool
	// loads are what the workers whose parts these are knew of loads when it was done, by worker; nil behind a return.
	loads map[int]wire.Loads
	// released means that everybody who was in the job had the answer, and forgotten that what was brought is not here
	// any more.
	released, forgotten bool
}

// gatherRecord is a collective that is over. A process that comes back answers from it.
type gatherRecord struct {
	N     uint64   `json:"n"`
	Call  string   `json:"call"`
	First int      `json:"first"`
	Data  [][]byte `json:"data"`
	More  []int    `json:"more,omitempty"`
	Have  []bool   `json:"have"`
	Lives []uint32 `json:"lives,omitempty"`

	Forgotten bool `json:"forgotten,omitempty"` // what was brought
}

const (
	// keepGathers is how many collectives are remembered; a worker has one under way at a time.
	keepGathers = 256
	// keepGathered is how many bytes are kept of what was brought to collectives that are released; nothing is kept of
	// one that brought more than a quarter of it.
	keepGathered = 1 << 20
)

// register has the collectives that are over outlive a kill. Collectives under way are in no record: their workers have
// no answer, and ask again.
func (c *gathering) register(m *state.Memory) {
	state.AddValue(m, "silent", &c.silent)
	state.AddFact(m, "gathers", func() (all []gatherRecord) {
		for _, n := range c.order {
			if g := c.byNumber[n]; g.done && g.err == nil {
				all = append(all, g.record())
			}
		}
		return all
	}, func(all []gatherRecord) {
		for _, r := range all {
			c.recall(r)
		}
	})
	c.ended = state.AddEvent(m, "gathered", func(r gatherRecord) {
		if g := c.byNumber[r.N]; g == nil || !g.done { // else another has come to it since
			c.roster.Met(r.Have)
		}
		c.recall(r)
	})
}

// recall has a collective that is over. Locked. All before it are released: all workers had come to this one.
func (c *gathering) recall(r gatherRecord) {
	if len(c.order) == 0 {
		c.past = r.N - 1
	}
	g := c.of(r.N, r.Call, r.First)
	g.data, g.more, g.have, g.done, g.forgotten = r.Data, r.More, r.Have, true, r.Forgotten
	copy(g.lives, r.Lives)
	c.release(r.N - 1)
}

// handle collects a worker's blob and answers when all have come. It returns when the answer is there, which may take
// as long as the slowest worker computes. A request that comes again joins the wait of the first, or gets its answer.
func (c *gathering) handle(f *wire.Frame, msg *wire.Gather, r *state.Reply) error {
	c.st.Lock()
	defer c.st.Unlock()
	if err := c.st.Sender(f); err != nil {
		return err
	}
	if c.byNumber[msg.N] == nil && msg.N <= c.past {
		return c.again(f, msg, r)
	}
	g := c.of(msg.N, msg.Call, int(f.Worker))
	switch {
	case g.call != msg.Call:
		return c.differ(g, int(f.Worker), msg.Call)
	case g.forgotten && msg.Call != wire.Barrier:
		return notKept(f, msg)
	case g.others(f, msg):
		return wire.Refuse(wire.StatusRefused, "worker %d comes again to collective %d, which is %s, with other "+
			"values than before, which other workers may have: repeat a call that was given up with the same "+
			"values, or leave it out", f.Worker, msg.N, msg.Call)
	}
	if !g.have[f.Worker] {
		g.have[f.Worker], g.data[f.Worker], g.lives[f.Worker] = true, msg.Data, f.Life
		if msg.More {
			g.more = append(g.more, int(f.Worker))
		}
		if g.done { // without this worker
			c.ended.Note(g.record())
		}
		c.st.Broadcast()
	}
	again := g.done && g.lives[f.Worker] != f.Life
	err := c.st.AwaitWorkers(func() []int { return c.absent(g) },
		func() bool { return g.err != nil || c.complete(g) && !(again && c.lacks(g)) },
		func() string { return fmt.Sprintf("at %s: missing %s", msg.Call, c.absentees(g)) })
	switch {
	case err != nil:
		return err
	case g.err != nil:
		return g.err
	case g.forgotten && msg.Call != wire.Barrier:
		return notKept(f, msg)
	}
	data := g.data
	if g.forgotten {
		data = c.nothing()
	}
	return r.JSON(wire.Gathered{Data: data, More: g.more, Loads: c.loads(g, f), Left: c.roster.Left()})
}

// loads are what a worker is told of loads with its answer. What another, who had the answer before it, has loaded
// since comes with the next: statistics that all brought to this one are set behind it. Locked.
func (c *gathering) loads(g *gathered, f *wire.Frame) wire.Loads {
	if then, came := g.loads[int(f.Worker)]; came && g.lives[f.Worker] == f.Life {
		return then
	}
	return c.st.LoadsOf(f.Worker)
}

// others says whether a life that comes again brings other bytes than before. To a barrier it may: statistics that its
// worker has computed since.
func (g *gathered) others(f *wire.Frame, msg *wire.Gather) bool {
	return g.have[f.Worker] && g.lives[f.Worker] == f.Life && msg.Call != wire.Barrier &&
		!bytes.Equal(g.data[f.Worker], msg.Data)
}

// behind is how many collectives a worker has behind it: in the last of them it took part, or it is waited for no more.
// Locked. A worker that was started again may leave so many out.
func (c *gathering) behind(worker int) (n uint64) {
	n = c.past
	for _, g := range c.byNumber {
		if g.done || g.have[worker] {
			n = max(n, g.n)
		}
	}
	return n
}

// again answers a collective that all have had behind them for long: a barrier, or one to which no worker
// brought anything. Locked.
func (c *gathering) again(f *wire.Frame, msg *wire.Gather, r *state.Reply) error {
	if msg.N > c.silent && msg.Data != nil && msg.Call != wire.Barrier {
		return notKept(f, msg)
	}
	return r.JSON(wire.Gathered{Data: c.nothing(), Loads: c.st.LoadsOf(f.Worker), Left: c.roster.Left()})
}

// nothing is what workers bring that bring nothing. Locked. A worker that is gone has nil, as in the answer to any
// collective.
func (c *gathering) nothing() [][]byte {
	data := make([][]byte, c.roster.Workers())
	for w := range data {
		if !c.roster.Gone(w) {
			data[w] = []byte{}
		}
	}
	return data
}

// notKept refuses a collective that a worker makes which was started again.
func notKept(f *wire.Frame, msg *wire.Gather) error {
	return wire.Refuse(wire.StatusRefused, "worker %d was started again alone, and its collective %d is %s, which the "+
		"others have behind them: what they brought is not kept. Have such a worker pass over what is behind "+
		"(Fleet.Position says where it goes on), or start the whole job again from its last checkpoint", f.Worker,
		msg.N, msg.Call)
}

// differ refuses a collective in which a worker makes another call than the first, for all who are in it. A worker
// that has its answer keeps it. Locked.
func (c *gathering) differ(g *gathered, worker int, call string) error {
	err := wire.Refuse(wire.StatusRefused, "workers make different calls: worker %d is at %s, worker %d at %s: "+
		"all must make the same calls in the same order",
		g.first, g.call, worker, call)
	if !g.done && g.err == nil {
		g.err = err
		c.st.Broadcast()
	}
	return err
}

// complete says whether everybody who is still in the job has sent his part. Once it is, it stays so. Locked. Whose
// request sees that first makes it done: it notes the record, tells the roster who has met, and lets go of what the
// collective before had brought.
func (c *gathering) complete(g *gathered) bool {
	if !g.done {
		if c.lacks(g) {
			return false
		}
		g.done, g.loads = true, map[int]wire.Loads{}
		for w, have := range g.have {
			if have {
				g.loads[w] = c.st.LoadsOf(uint32(w))
			}
		}
		c.roster.Met(g.have)
		c.ended.Note(g.record())
		c.release(g.n - 1)
	}
	return true
}

// lacks says whether somebody has not sent his part who is in the job: also one that was gone when the collective was
// complete, and whose next life comes to it. Another worker's life that comes to it again waits for that one. Locked.
func (c *gathering) lacks(g *gathered) bool {
	for w, have := range g.have {
		if !have && !c.roster.Gone(w) {
			return true
		}
	}
	return false
}

// absent are the workers that have not come. Locked.
func (c *gathering) absent(g *gathered) (ws []int) {
	for w, have := range g.have {
		if !have {
			ws = append(ws, w)
		}
	}
	return ws
}

// absentees names them. Locked. It is for the text of a wait.
func (c *gathering) absentees(g *gathered) string {
	var names []string
	for _, w := range c.absent(g) {
		names = append(names, c.roster.Describe(w, c.st.Now()))
	}
	return strings.Join(names, ", ")
}

// release says that everybody in the job has what collective n brought, since all have come to the next. It is kept for
// a worker that is started again alone, the last first, as far as it is little. Locked.
func (c *gathering) release(n uint64) {
	if g := c.byNumber[n]; g != nil {
		g.released = true
	}
	kept := 0
	for _, n := range slices.Backward(c.order) {
		if g := c.byNumber[n]; g.released {
			size := g.size()
			if kept += size; kept > keepGathered || size > keepGathered/4 {
				kept -= size
				g.forget()
			}
		}
	}
}

// record is a collective as the journal has it. Locked. Its slices are the collective's own, and encoded at once.
func (g *gathered) record() gatherRecord {
	return gatherRecord{N: g.n, Call: g.call, First: g.first, Data: g.data, More: g.more, Have: g.have, Lives: g.lives,
		Forgotten: g.forgotten}
}

// size is how much was brought, as far as it is here.
func (g *gathered) size() (n int) {
	for _, b := range g.data {
		n += len(b)
	}
	return n
}

// forget lets go of what was brought; nothing is nothing still.
func (g *gathered) forget() {
	for w, b := range g.data {
		if len(b) > 0 {
			g.data[w], g.forgotten = nil, true
		}
	}
}

// of is collective n, which begins with the first request for it. Locked. Where keepGathers are known the oldest is
// dropped for it.
func (c *gathering) of(n uint64, call string, worker int) *gathered {
	if found := c.byNumber[n]; found != nil {
		return found
	}
	if len(c.order) == keepGathers {
		c.drop(c.byNumber[c.order[0]])
	}
	workers := c.roster.Workers()
	made := &gathered{n: n, call: call, first: worker, data: make([][]byte, workers), have: make([]bool, workers),
		lives: make([]uint32, workers)}
	c.byNumber[n], c.order = made, append(c.order, n)
	return made
}

// drop lets go of the oldest collective. Locked. Its number stays in past, and in silent where no worker has brought
// anything to it or to any before.
func (c *gathering) drop(g *gathered) {
	if c.silent == c.past && g.n == c.past+1 && !g.forgotten && g.size() == 0 {
		c.silent = g.n
	}
	c.past = max(c.past, g.n)
	delete(c.byNumber, g.n)
	c.order = c.order[1:]
}
