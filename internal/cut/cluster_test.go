package cut

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/internal/wire"
)

// TestClustersByDice has workers save on several servers while they push, by seed: pushes come to servers one after the
// other, saves are given up anywhere, workers die anywhere, and messages come twice. Whatever happens, a checkpoint
// that is committed holds the same steps on all servers, at most one save holds pushes on a server, and in the end none
// does.
func TestClustersByDice(t *testing.T) {
	committed := 0
	for seed := range uint64(300) {
		c := newDiceCluster(t, seed)
		for range 400 {
			c.event()
		}
		for w := range c.workers {
			c.leave(w)
		}
		for i, m := range c.servers {
			for range 3 {
				c.settle(i)
			}
			if m.Holder() != "" || m.Open() != "" {
				t.Fatalf("seed %d: %q holds pushes on server %d, %q is open, and every worker has gone", seed, m.Holder(), i, m.Open())
			}
		}
		committed += c.committed
	}
	if committed < 300 {
		t.Errorf("only %d checkpoints were committed", committed)
	}
}

// diceCluster is some servers, and workers that push to them and save.
type diceCluster struct {
	t         *testing.T
	r         *rand.Rand
	seed      uint64
	servers   []*Machine
	applied   [][]uint64 // by server and worker: the last step in the tables
	written   []map[string][]uint64
	workers   []diceWorker
	committed int
}

// diceWorker is a worker that makes one step at a time and one save at a time.
type diceWorker struct {
	gone   bool
	step   uint64 // the last that it has made
	at     int    // servers that have it
	save   wire.Save
	stage  int // of the save: freezing, saving, committing
	server int // that is next in this stage
	steps  []uint64
	saves  int
}

func newDiceCluster(t *testing.T, seed uint64) *diceCluster {
	const servers, workers = 3, 3
	c := &diceCluster{t: t, r: rand.New(rand.NewPCG(seed, 1)), seed: seed, workers: make([]diceWorker, workers)}
	for i := range servers {
		c.servers = append(c.servers, New(Options{First: i == 0, Workers: workers, Servers: servers}))
		c.applied, c.written = append(c.applied, make([]uint64, workers)), append(c.written, map[string][]uint64{})
	}
	return c
}

// event is one thing that happens to a worker that is drawn.
func (c *diceCluster) event() {
	w := c.r.IntN(len(c.workers))
	d := &c.workers[w]
	switch x := c.r.IntN(100); {
	case d.gone:
	case x < 1:
		c.leave(w)
	case x < 40:
		c.push(w)
	case x < 42 && d.save.ID != "":
		c.giveUp(w)
	case d.save.ID == "":
		d.saves++
		d.save, d.stage, d.server, d.steps = wire.Save{ID: fmt.Sprintf("%d-%d", w, d.saves), Dir: "dir"}, 0, 0, make([]uint64, len(c.workers))
	default:
		c.advance(w)
	}
	for i := range c.servers {
		c.settle(i)
	}
}

// push brings a worker's step to the next server, in their order, unless a cut there leaves it out.
func (c *diceCluster) push(w int) {
	d := &c.workers[w]
	if d.at == 0 {
		d.step++
	}
	if c.servers[d.at].Holds(w, d.step) {
		return
	}
	c.applied[d.at][w] = d.step
	d.at = (d.at + 1) % len(c.servers)
}

// advance sends the next message of a worker's save, often twice.
func (c *diceCluster) advance(w int) {
	d := &c.workers[w]
	for range 1 + c.r.IntN(2) {
		switch d.stage {
		case 0:
			c.freeze(w)
		case 1:
			c.ask(d.server, d)
		case 2:
			c.commit(w)
			return
		}
	}
}

// freeze freezes the next server, if that is free.
func (c *diceCluster) freeze(w int) {
	d := &c.workers[w]
	m := c.servers[d.server]
	if !m.Free(d.save.ID) {
		return
	}
	if err := m.Freeze(&d.save, w); err != nil {
		c.giveUp(w)
		return
	}
	for v := range d.steps {
		d.steps[v] = max(d.steps[v], c.applied[d.server][v])
	}
	if d.server++; d.server == len(c.servers) {
		d.stage, d.server, d.save.Steps = 1, 0, d.steps
	}
}

// ask asks a server for its part, and goes on to the next when it has answered.
func (c *diceCluster) ask(server int, d *diceWorker) {
	m := c.servers[server]
	if m.Busy(d.save.ID) {
		return
	}
	if _, err := m.Reach(&d.save); err != nil {
		c.t.Fatalf("seed %d: server %d: %v", c.seed, server, err)
	}
	if answer, err := m.Answer(d.save.ID); err != nil || answer == nil {
		return
	}
	if d.server++; d.server == len(c.servers) {
		d.stage, d.server = 2, 0
	}
}

// settle has a server do what is ready: the steps of a cut are there, a part is taken aside, or written, which may take
// long.
func (c *diceCluster) settle(i int) {
	m := c.servers[i]
	if m.writer != nil && (c.r.IntN(5) == 0 || c.over()) {
		m.Wrote(m.writer.id, "part", nil)
	}
	id := m.Holder()
	if id == "" {
		return
	}
	switch s := m.saves[id]; {
	case s.state == writing:
		c.written[i][id] = slices.Clone(c.applied[i])
		m.Imaged(id)
	case s.upTo != nil && c.reached(i, m):
		_ = m.Reached(id) // fails if it was given up
	}
}

// over says whether every worker has gone.
func (c *diceCluster) over() bool {
	return !slices.ContainsFunc(c.workers, func(d diceWorker) bool { return !d.gone })
}

// reached says whether the steps of a cut are in the tables; those of workers that are gone never will be.
func (c *diceCluster) reached(i int, m *Machine) bool {
	for w := range c.workers {
		if !c.workers[w].gone && c.applied[i][w] < m.UpTo(w) {
			return false
		}
	}
	return true
}

// commit commits a save whose parts are all written, and compares them.
func (c *diceCluster) commit(w int) {
	d := &c.workers[w]
	d.save.Parts = make([]wire.Part, len(c.servers))
	if over, err := c.servers[0].Commit(&d.save); err != nil || over {
		c.t.Fatalf("seed %d: commit: over %v, error %v", c.seed, over, err)
	}
	c.servers[0].Committed(int64(c.r.IntN(1<<30)), wire.Freed{}, nil)
	c.committed++
	for v := range c.workers {
		for i := range c.servers {
			if got, want := c.written[i][d.save.ID][v], d.steps[v]; got != want && !c.workers[v].gone {
				c.t.Fatalf("seed %d: save %s has worker %d's steps up to %d on server %d, want %d", c.seed, d.save.ID, v, got, i, want)
			}
		}
	}
	d.save = wire.Save{}
}

func (c *diceCluster) giveUp(w int) {
	d := &c.workers[w]
	for _, m := range c.servers {
		m.GiveUp(&d.save, w)
	}
	d.save = wire.Save{}
}

func (c *diceCluster) leave(w int) {
	c.workers[w].gone = true
	for _, m := range c.servers {
		m.Leave(w)
	}
}
