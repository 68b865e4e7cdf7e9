package server

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/optimizer"
)

// reloading gives tables that are in use what a checkpoint or a saved model has, in a cut.
//
// First every server reads what it owns into tables beside its own, which takes long and may fail: then nothing has
// changed. When all have read the same, each puts it in the place of its own, at once. No image of the tables is open
// then: one cut begins when the one before is over, and its images are closed.
type reloading struct {
	st      *state.Job
	part    *state.Part
	store   *table.Store // part's
	rule    optimizer.Rule
	rounds  *rounds
	frozen  *frozen
	delays  *delays
	changed *changed
	loads   state.Event[loadRecord]
	log     *slog.Logger
}

// beside is what was read beside the tables. It is a value of one cut: nothing else has it before put.
type beside struct {
	err error
	// from is the record of the load, found what the directory's manifest says.
	from  loadRecord
	store *table.Store
	// found is what the directory's manifest says; store has tables like the server's, but for params that were not
	// asked for.
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
func (c *reloading) register(m *state.Memory) {
	state.AddValue(m, "loads", &c.st.Loads)
	state.AddValue(m, "counted", &c.st.Counted)
	c.loads = state.TryEvent(m, "load", c.again)
}

// readFrom fills tables like this server's from a directory. It takes no lock, and may take minutes. n.err says why it
// failed; the other servers then take nothing either.
func (c *reloading) readFrom(ctx context.Context, dir string, params []string) beside {
	n := beside{from: loadRecord{Dir: dir, Params: params}}
	wanted := func(p *optimizer.Param) bool { return len(params) == 0 || slices.Contains(params, p.Name) }
	if n.store, n.err = c.store.Like(wanted); n.err != nil {
		return n
	}
	owns := func(t int, id uint64) bool { return c.part.Owns(c.embedding(n.store.Tables[t].Param()), id) }
	what := checkpoint.Selection{Params: params}
	n.found, n.err = checkpoint.Restore(ctx, dir, n.store, c.rule, c.part.Layout.Params, owns, what)
	n.from.Origin = n.found.Origin + ": " + what.String()
	return n
}

// embedding is the place of a param among the layout's embeddings. -1 is not returned: the param is one of a table of
// this server.
func (c *reloading) embedding(p *optimizer.Param) int {
	return slices.IndexFunc(c.store.Tables, func(t *table.Sparse) bool { return t.Param() == p })
}

// put makes the tables what was read. Locked, and no update is under way. Answers that are on their way may have
// weights of before: their versions are older.
func (c *reloading) put(n *beside) {
	absent := func(p *optimizer.Param) bool { return slices.Contains(n.found.Absent, p.Name) }
	c.part.Updates.Between(func() { c.store.Become(n.store, absent) })
	if c.st.Leader != nil {
		c.st.Leader.Loaded()
	}
	if n.found.Rule != "" && len(n.from.Params) == 0 { // a whole checkpoint
		c.store.SetStep(n.store.Step())
		c.store.SetRateFactors(n.store.Factors())
		c.st.Counted = n.found.Counted
		c.rounds.rates.coming = nil
		if copies, are := c.st.Mode.(*mode.Copies); are {
			copies.Begin(n.store.Step())
			c.st.Loads.Whole, c.st.Loads.Updates = c.st.Loads.Whole+1, uint64(copies.Open())
		}
	}
	for _, t := range n.store.Tables {
		c.changed.anew(c.embedding(t.Param()))
	}
	for _, b := range c.part.Frozen() {
		c.frozen.known[b.Param] = c.frozen.known[b.Param] || !absent(c.part.Layout.Params[b.Param])
	}
	for w := range c.st.Roster.Workers() {
		c.delays.forget(w)
	}
	if c.takesFrozen(n.from.Params) {
		c.st.Loads.Frozen++
	}
	c.part.Updates.Changed()
}

// takesFrozen reports whether dense params that no rule changes are among the named ones; no names are all. Workers
// that see the number of such loads bring the values anew.
func (c *reloading) takesFrozen(params []string) bool {
	return slices.ContainsFunc(c.part.Layout.Params, func(p *optimizer.Param) bool {
		return p.Frozen && !p.Embedding && (len(params) == 0 || slices.Contains(params, p.Name))
	})
}

// report logs what was loaded, and whose gradients are of the weights before. Locked. A gradient that is noted was
// computed at the weights before, and no cut waits for its round.
func (c *reloading) report(n *beside) {
	c.log.Info("loaded a model into the running job", "dir", n.from.Dir, "loaded", n.from.Origin)
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

// again makes a load that the process before this one has made. Locked. The directory must have what it had. If it was
// removed since, this server can't come back, which is why a checkpoint is wanted behind every load.
func (c *reloading) again(ctx context.Context, r loadRecord) error {
	n := c.readFrom(ctx, r.Dir, r.Params)
	if n.err == nil && n.from.Origin != r.Origin {
		n.err = fmt.Errorf("%s has %s now, and the job has loaded %s", r.Dir, n.from.Origin, r.Origin)
	}
	if n.err == nil {
		c.put(&n)
		if r.Name != "" {
			c.st.Follower.Recall(r.Named)
		}
	}
	return n.err
}
