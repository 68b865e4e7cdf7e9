package server

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
)

// reloading gives tables that are in use what a checkpoint or a saved model has, in a cut that a worker keeps.
//
// First every server reads what it owns into tables beside its own, which takes long and may fail: then nothing has
// changed. When all have read the same, each puts it in the place of its own, at once. A worker that ends between the
// first server and the last leaves servers of two models, and so ends the job.
type reloading struct {
	st       *state
	part     *part
	rule     optimizer.Rule
	rounds   *rounds
	frozen   *frozen
	delays   *delays
	recovery *recovery
	loads    event[loadRecord]
	log      *slog.Logger
}

// beside is what was read beside the tables. Its fields count when it is done.
type beside struct {
	done  bool
	err   error
	from  loadRecord
	store *table.Store
	found checkpoint.Manifest
}

// loadRecord is what the tables became: that directory's, of those params, which was then what Origin says.
type loadRecord struct {
	cut.Named
	Dir    string   `json:"dir"`
	Params []string `json:"params,omitempty"`
	Origin string   `json:"origin"`
}

// register has loads outlive a kill, which are made again from their directories, and their number, by which workers
// know that there were others.
func (c *reloading) register(m *memory) {
	addValue(m, "loads", &c.st.loads)
	addValue(m, "counted", &c.st.counted)
	c.loads = tryEvent(m, "load", c.again)
}

// handle reads, takes, or ends the cut.
func (c *reloading) handle(f *wire.Frame, msg *wire.Load, r *reply) error {
	c.st.lock.Lock()
	defer c.st.lock.Unlock()
	if err := c.st.sender(f); err != nil {
		return err
	}
	var answer wire.Loaded
	switch {
	case msg.End:
		c.end(msg)
		answer.Loads = c.st.loadsOf(f.Worker)
	case msg.Take:
		if err := c.take(msg); err != nil {
			return err
		}
	default:
		n, err := c.read(msg)
		if err != nil {
			return err
		}
		answer.Origin = n.from.Origin
	}
	return r.JSON(answer)
}

// end lets pushes go on, and has a checkpoint saved if the job saves any: what was loaded is in none yet, and a server
// that comes back would need the directory. Locked.
func (c *reloading) end(msg *wire.Load) {
	c.st.cut.End(msg.ID)
	if c.part.index == 0 {
		c.recovery.want()
	}
	c.st.lock.broadcast()
}

// read reads a directory, once however often the request comes. Locked, but not while it reads.
func (c *reloading) read(msg *wire.Load) (*beside, error) {
	kept, first, err := c.st.cut.Aside(msg.ID, func() any { return new(beside) })
	if err != nil {
		return nil, err
	}
	n, is := kept.(*beside)
	if !is {
		return nil, wire.Refuse(wire.StatusRefused, "cut %s is for a model for serving", msg.ID)
	}
	if first {
		c.st.lock.Unlock()
		read := c.readFrom(context.Background(), msg.Dir, msg.Params)
		c.st.lock.Lock()
		*n = read
		c.st.lock.broadcast()
	}
	reading := func() string { return fmt.Sprintf("for %s to be read", msg.Dir) }
	if err := c.st.lock.await(func() bool { return n.done }, reading); err != nil {
		return nil, err
	}
	return n, n.err
}

// readFrom fills tables like this server's from a directory.
func (c *reloading) readFrom(ctx context.Context, dir string, params []string) beside {
	n := beside{done: true, from: loadRecord{Dir: dir, Params: params}}
	wanted := func(p *optimizer.Param) bool { return len(params) == 0 || slices.Contains(params, p.Name) }
	if n.store, n.err = c.part.store.Like(wanted); n.err != nil {
		return n
	}
	owns := func(t int, id uint64) bool { return c.part.owns(c.embedding(n.store.Tables[t].Param()), id) }
	what := checkpoint.Selection{Params: params}
	n.found, n.err = checkpoint.Restore(ctx, dir, n.store, c.rule, c.part.layout.Params, owns, what)
	n.from.Origin = n.found.Origin + ": " + what.String()
	return n
}

// embedding is the place of a param among the layout's embeddings.
func (c *reloading) embedding(p *optimizer.Param) int {
	return slices.IndexFunc(c.part.store.Tables, func(t *table.Sparse) bool { return t.Param() == p })
}

// take puts what was read in the place of the tables, once. Locked.
func (c *reloading) take(msg *wire.Load) error {
	n := new(beside)
	if kept, _, err := c.st.cut.Aside(msg.ID, func() any { return n }); err == nil {
		// else it was taken, or the cut is lost
		if read, is := kept.(*beside); is {
			n = read
		}
		if !n.done || n.err != nil {
			return wire.Refuse(wire.StatusRefused, "cut %s: nothing was read that could be taken", msg.ID)
		}
	}
	if first, err := c.st.cut.Take(msg.ID); err != nil || !first {
		return err
	}
	c.put(n)
	c.loads.note(n.from)
	c.tell(n)
	return nil
}

// put makes the tables what was read. Locked, and no update is under way.
func (c *reloading) put(n *beside) {
	absent := func(p *optimizer.Param) bool { return slices.Contains(n.found.Absent, p.Name) }
	c.part.store.Become(n.store, absent)
	if c.st.leader != nil {
		c.st.leader.Loaded()
	}
	if n.found.Rule != "" && len(n.from.Params) == 0 { // a whole checkpoint
		c.part.store.SetStep(n.store.Step())
		c.part.store.SetRateFactors(n.store.Factors())
		c.st.counted = n.found.Counted
		c.rounds.rates.coming = nil
	}
	for _, b := range c.part.frozen() {
		c.frozen.known[b.Param] = c.frozen.known[b.Param] || !absent(c.part.layout.Params[b.Param])
	}
	for w := range c.st.roster.Workers() {
		c.delays.forget(w)
	}
	if c.takesFrozen(n.from.Params) {
		c.st.loads.Frozen++
	}
	c.part.updates.Changed()
}

// takesFrozen says whether dense params that no rule changes are among those of these names; no names are all.
func (c *reloading) takesFrozen(params []string) bool {
	return slices.ContainsFunc(c.part.layout.Params, func(p *optimizer.Param) bool {
		return p.Frozen && !p.Embedding && (len(params) == 0 || slices.Contains(params, p.Name))
	})
}

// tell logs what was loaded, and whose gradients are of the weights before. Locked.
func (c *reloading) tell(n *beside) {
	c.log.Info("loaded while the job runs", "dir", n.from.Dir, "loaded", n.from.Origin)
	n.found.Tell(c.log)
	var old []int
	for w, p := range c.rounds.noted {
		if p != nil {
			old = append(old, w)
		}
	}
	if len(old) > 0 {
		c.log.Warn("gradients of the weights before will be added to those that were loaded: load between two barriers",
			"workers", old)
	}
}

// again makes a load that the process before this one has made. Locked.
func (c *reloading) again(ctx context.Context, r loadRecord) error {
	n := c.readFrom(ctx, r.Dir, r.Params)
	if n.err == nil && n.from.Origin != r.Origin {
		n.err = fmt.Errorf("%s has %s now, and the job has loaded %s", r.Dir, n.from.Origin, r.Origin)
	}
	if n.err == nil {
		c.put(&n)
		if r.Name != "" {
			c.st.follower.Recall(r.Named)
		}
	}
	return n.err
}
