package server

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/wire"
)

// gathering runs the collectives of workers, on server 0: each worker sends a blob and gets the blobs of all. A barrier
// is a gather without data. The collectives under way and the last complete ones are kept, for repeated requests.
//
// Workers number their collectives and make them in the same order; each sends its call with its blob, so that a
// difference is found. A worker that has left or died is not waited for. One that was started again alone makes its
// collectives from the first on: those that the others have completed are answered at once, with the data of all while
// they are kept, and refused after that.
type gathering struct {
	st     *state.Job
	epochs *epochs
	saves  bool // the job has checkpoints of its own
	ended  state.Event[gatherRecord]
	// byNumber has the collectives of order: the last keepGathers that were begun, oldest first.
	byNumber map[uint64]*gathered
	order    []uint64
	past     uint64 // the highest collective that is over and not in byNumber
	silent   uint64 // no worker brought data to the collectives up to this one
}

// gathered is one collective. It is complete when each worker in the job has sent its part, and is kept after that for
// repeated requests.
type gathered struct {
	// n is the number of the collective, from 1 on, as workers count.
	n     uint64
	call  string // what must be the same on every worker
	first int    // the worker that came first
	err   error  // which workers made different calls
	// data is what each worker brought, by worker: nil for a worker that has brought nothing yet, or is gone.
	data [][]byte
	more []int // workers that have more data to send
	// have records, by worker, which parts have come.
	have  []bool
	lives []uint32 // the workers' lives that sent the parts
	// done records that all workers in the job had sent their parts, and stays set.
	done bool
	// loads are the loads that the participants had been told of when it was done, by worker; nil once it is released.
	loads map[int]wire.Loads
	// released means that every worker in the job had the answer; forgotten, that the data are no longer kept.
	released, forgotten bool
}

// gatherRecord is a complete collective. A process that comes back answers from it.
type gatherRecord struct {
	N     uint64   `json:"n"`
	Call  string   `json:"call"`
	First int      `json:"first"`
	Data  [][]byte `json:"data"`
	More  []int    `json:"more,omitempty"`
	Have  []bool   `json:"have"`
	Lives []uint32 `json:"lives,omitempty"`

	Loads     map[int]wire.Loads `json:"loads,omitempty"`
	Forgotten bool               `json:"forgotten,omitempty"` // the data are not kept
}

const (
	// keepGathers is the number of collectives that are kept; a worker has one under way at a time.
	keepGathers = 256
	// keepGathered is the number of bytes of data that are kept for released collectives; the data of one that brought
	// more than a quarter of it are dropped.
	keepGathered = 1 << 20
)

// register makes complete collectives survive a kill. Collectives under way have no record: their workers have no
// answer, and send their requests again.
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
		if g := c.byNumber[r.N]; g == nil || !g.done { // else a worker has joined it since
			c.st.Roster.Met(r.Have)
		}
		c.recall(r)
	})
}

// recall restores a complete collective. The caller holds the lock. All earlier ones are released, since all workers
// had come to this one.
func (c *gathering) recall(r gatherRecord) {
	if len(c.order) == 0 {
		c.past = r.N - 1
	}
	g := c.of(r.N, r.Call, r.First)
	g.data, g.more, g.have, g.done, g.forgotten = r.Data, r.More, r.Have, true, r.Forgotten
	g.loads = r.Loads
	copy(g.lives, r.Lives)
	c.release(r.N - 1)
}

// handle collects a worker's blob and answers when all have come, which may take as long as the slowest worker
// computes. A repeated request waits with the first, or gets its answer. The caller holds the lock.
func (c *gathering) handle(f *wire.Frame, msg *wire.Gather, r *state.Reply) error {
	if c.byNumber[msg.N] == nil && msg.N <= c.past {
		return c.again(f, msg, r)
	}
	g := c.of(msg.N, msg.Call, int(f.Worker))
	switch {
	case g.call != msg.Call:
		return c.differ(g, int(f.Worker), msg.Call)
	case g.forgotten && msg.Call != wire.Barrier:
		return c.notKept(f, msg)
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
		return c.notKept(f, msg)
	}
	data := g.data
	if g.forgotten {
		data = c.nothing()
	}
	return r.JSON(wire.Gathered{Data: data, More: g.more, Loads: c.loads(g, f)})
}

// loads are the loads that a worker's answer reports. Loads by a worker that had its answer earlier are reported with
// the next collective: the statistics in this one are older than they. The caller holds the lock.
func (c *gathering) loads(g *gathered, f *wire.Frame) wire.Loads {
	if then, came := g.loads[int(f.Worker)]; came && g.lives[f.Worker] == f.Life {
		return then
	}
	return c.st.LoadsOf(f.Worker)
}

// others reports whether a repeated request of the same life brings other bytes. For a barrier it may: its worker may
// have computed new statistics.
func (g *gathered) others(f *wire.Frame, msg *wire.Gather) bool {
	return g.have[f.Worker] && g.lives[f.Worker] == f.Life && msg.Call != wire.Barrier &&
		!bytes.Equal(g.data[f.Worker], msg.Data)
}

// behind is the number of collectives that a worker has behind it: it took part in the last of them, or is not waited
// for there. The caller holds the lock. A worker that was started again may skip that many.
func (c *gathering) behind(worker int) (n uint64) {
	n = c.past
	for _, g := range c.byNumber {
		if g.done || g.have[worker] {
			n = max(n, g.n)
		}
	}
	return n
}

// again answers a collective that all workers completed long ago: a barrier, or one without data. The caller holds the
// lock.
func (c *gathering) again(f *wire.Frame, msg *wire.Gather, r *state.Reply) error {
	if msg.N > c.silent && msg.Data != nil && msg.Call != wire.Barrier {
		return c.notKept(f, msg)
	}
	return r.JSON(wire.Gathered{Data: c.nothing(), Loads: c.st.LoadsOf(f.Worker)})
}

// nothing is the data of a collective without data. The caller holds the lock. The entry of a worker that is gone is
// nil, as in any other answer.
func (c *gathering) nothing() [][]byte {
	data := make([][]byte, c.st.Roster.Workers())
	for w := range data {
		if !c.st.Roster.Gone(w) {
			data[w] = []byte{}
		}
	}
	return data
}

// notKept refuses a repeated collective of a worker that was started again, since the data are not kept. The caller
// holds the lock.
func (c *gathering) notKept(f *wire.Frame, msg *wire.Gather) error {
	again := 0
	for w := range c.st.Roster.Workers() {
		if c.restarted(w) {
			again++
		}
	}
	return c.apart(again == c.st.Roster.Workers(), wire.Refuse(wire.StatusRefused, "worker %d was started again "+
		"alone, and its collective %d is %s, which the others have behind them: what they brought is not kept. "+
		"Have such a worker pass over what is behind (Fleet.FirstEpoch), or start the whole job again from its last "+
		"checkpoint",
		f.Worker, msg.N, msg.Call))
}

// restarted reports whether a worker was started again in this run of the job. The caller holds the lock.
func (c *gathering) restarted(worker int) bool {
	life, _ := c.st.Roster.Living(worker)
	return life > 1
}

// apart is the refusal of a worker that was started again and is elsewhere in its program than the others. If it can't
// go on, all roles of a job with checkpoints go back to the last. The caller holds the lock.
func (c *gathering) apart(back bool, refusal error) error {
	if c.saves && back {
		c.st.Fail(wire.Refuse(wire.StatusBack, "%v; all roles go back to the last checkpoint", refusal))
		return c.st.Failure
	}
	return refusal
}

// differ fails a collective in which a worker makes another call than the first, for all its workers. A worker that has
// its answer keeps it. The caller holds the lock.
func (c *gathering) differ(g *gathered, worker int, call string) error {
	back := c.restarted(g.first) || c.restarted(worker)
	err := c.apart(back, wire.Refuse(wire.StatusRefused, "workers make different calls: worker %d is at %s, worker %d "+
		"at %s: all must make the same calls in the same order, by programs of one build", g.first, g.call, worker,
		call))
	if !g.done && g.err == nil {
		g.err = err
		c.st.Broadcast()
	}
	return err
}

// complete reports whether every worker still in the job has sent its part, and stays true. The caller holds the lock.
// The first request that finds it complete makes it done: it notes the record, informs the roster which workers have
// met, and drops the data of the collective before.
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
		c.st.Roster.Met(g.have)
		c.epochs.noteMeeting(g.call, g.have)
		c.ended.Note(g.record())
		c.release(g.n - 1)
	}
	return true
}

// lacks reports whether a worker in the job has not sent its part. That may be a worker that was gone when the
// collective was complete, and whose next life reaches it; another worker's life that repeats the collective waits for
// it. The caller holds the lock.
func (c *gathering) lacks(g *gathered) bool {
	for w, have := range g.have {
		if !have && !c.st.Roster.Gone(w) {
			return true
		}
	}
	return false
}

// absent returns the workers that have not come. The caller holds the lock.
func (c *gathering) absent(g *gathered) (ws []int) {
	for w, have := range g.have {
		if !have {
			ws = append(ws, w)
		}
	}
	return ws
}

// absentees names the absent workers, for the text of a wait. The caller holds the lock.
func (c *gathering) absentees(g *gathered) string {
	return strings.Join(c.st.Roster.Describe(c.absent(g), c.st.Now()), ", ")
}

// release notes that every worker in the job has the data of collective n, since all have come to the next. Data are
// kept for a worker that is started again alone, newest first, within keepGathered. The caller holds the lock.
func (c *gathering) release(n uint64) {
	if g := c.byNumber[n]; g != nil {
		g.released, g.loads = true, nil
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

// record is the collective's record for the journal. The caller holds the lock. Its slices are the collective's own,
// and are encoded at once.
func (g *gathered) record() gatherRecord {
	return gatherRecord{N: g.n, Call: g.call, First: g.first, Data: g.data, More: g.more, Have: g.have, Lives: g.lives,
		Loads: g.loads, Forgotten: g.forgotten}
}

// size is the number of bytes of data that are kept.
func (g *gathered) size() (n int) {
	for _, b := range g.data {
		n += len(b)
	}
	return n
}

// forget drops the data; a blob of no bytes stays.
func (g *gathered) forget() {
	for w, b := range g.data {
		if len(b) > 0 {
			g.data[w], g.forgotten = nil, true
		}
	}
}

// of returns collective n, which begins with the first request for it. The caller holds the lock. If keepGathers are
// kept, the oldest is dropped.
func (c *gathering) of(n uint64, call string, worker int) *gathered {
	if found := c.byNumber[n]; found != nil {
		return found
	}
	if len(c.order) == keepGathers {
		c.drop(c.byNumber[c.order[0]])
	}
	workers := c.st.Roster.Workers()
	made := &gathered{n: n, call: call, first: worker, data: make([][]byte, workers), have: make([]bool, workers),
		lives: make([]uint32, workers)}
	c.byNumber[n], c.order = made, append(c.order, n)
	return made
}

// drop drops the oldest collective. The caller holds the lock. Its number stays in past, and in silent if no worker has
// brought data to it or to any before.
func (c *gathering) drop(g *gathered) {
	if c.silent == c.past && g.n == c.past+1 && !g.forgotten && g.size() == 0 {
		c.silent = g.n
	}
	c.past = max(c.past, g.n)
	delete(c.byNumber, g.n)
	c.order = c.order[1:]
}
