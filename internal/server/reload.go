package server

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/optimizer"
)

// reloading gives tables that are in use what a checkpoint or a saved model has, in a cut.
//
// First every server reads what it owns into tables beside its own, which takes long and may fail: then nothing has
// changed. When all have read the same, each puts it in the place of its own, at once. No image of the tables is open
// then: one cut begins when the one before is over, and its images are closed.
type reloading struct {
	st      *state
	part    *part
	rule    optimizer.Rule
	rounds  *rounds
	frozen  *frozen
	delays  *delays
	changed *changed
	loads   event[loadRecord]
	log     *slog.Logger
}

// beside is what was read beside the tables.
type beside struct {
	err   error
	from  loadRecord
	store *table.Store
	found checkpoint.Manifest
}

// loadRecord is what the tables became: the directory's, of the named params, which was then what Origin says.
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

// readFrom fills tables like this server's from a directory.
func (c *reloading) readFrom(ctx context.Context, dir string, params []string) beside {
	n := beside{from: loadRecord{Dir: dir, Params: params}}
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
		if copies, are := c.st.mode.(*mode.Copies); are {
			copies.Begin(n.store.Step())
			c.st.loads.Whole++
		}
	}
	for _, t := range n.store.Tables {
		c.changed.anew(c.embedding(t.Param()))
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

// takesFrozen reports whether dense params that no rule changes are among the named ones; no names are all.
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
