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

// reloading loads a checkpoint or a saved model into tables that are in use, in a cut.
//
// First every server reads what it owns into tables beside its own, which takes long and may fail: then nothing has
// changed. When all have read the same, each replaces its own tables at once. No image of the tables is open then: a
// cut begins when the one before is over, and its images are closed.
type reloading struct {
	st      *state.Job
	part    *state.Part
	rule    optimizer.Rule
	rounds  *rounds
	frozen  *frozen
	delays  *delays
	changed *changed
	epochs  *epochs
	loads   state.Event[loadRecord]
	log     *slog.Logger
}

// beside are tables that were read beside those in use, in one cut. No other goroutine uses them before put.
type beside struct {
	err error
	// from is the record of the load.
	from loadRecord
	// found is the content of the directory's manifest; store has tables like the server's, without the params that
	// were not asked for.
	found checkpoint.Manifest
	store *table.Store
}

// loadRecord is a load: the directory, the named params, and what Origin found there then.
type loadRecord struct {
	cut.Named
	Dir    string   `json:"dir"`
	Params []string `json:"params,omitempty"`
	Origin string   `json:"origin"`
}

// register makes loads survive a kill, by loading their directories again, and so their number, by which workers notice
// loads.
func (c *reloading) register(m *state.Memory) {
	state.AddValue(m, "loads", &c.st.Loads)
	state.AddValue(m, "counted", &c.st.Counted)
	state.AddFact(m, "remade", func() uint64 { return c.st.Remade.Load() &^ 1 }, c.st.Remade.Store)
	c.loads = state.TryEvent(m, "load", c.again)
}

// readFrom fills tables like this server's from a directory. It takes no lock, and may take minutes. After an error, in
// n.err, the other servers load nothing either.
func (c *reloading) readFrom(ctx context.Context, dir string, params []string) beside {
	n := beside{from: loadRecord{Dir: dir, Params: params}}
	wanted := func(p *optimizer.Param) bool { return len(params) == 0 || slices.Contains(params, p.Name) }
	if n.store, n.err = c.part.Store.Like(wanted); n.err != nil {
		return n
	}
	owns := func(t int, id uint64) bool { return c.part.Owns(c.embedding(n.store.Tables[t].Param()), id) }
	what := checkpoint.Selection{Params: params}
	n.found, n.err = checkpoint.Restore(ctx, dir, n.store, c.rule, c.part.Layout.Params, owns, what)
	n.from.Origin = n.found.Origin + ": " + what.String()
	return n
}

// embedding is the place of a param among the layout's embeddings. The param belongs to a table of this server, so that
// it is never -1.
func (c *reloading) embedding(p *optimizer.Param) int {
	return slices.IndexFunc(c.part.Store.Tables, func(t *table.Sparse) bool { return t.Param() == p })
}

// put replaces the tables by those that were read. The caller holds the lock, and no update is under way. Answers on
// their way may have the weights from before, with older versions.
func (c *reloading) put(n *beside) {
	absent := func(p *optimizer.Param) bool { return slices.Contains(n.found.Absent, p.Name) }
	whole := n.found.Rule != "" && len(n.from.Params) == 0 // all params of a checkpoint
	c.part.Updates.Between(func() {
		c.part.Store.Become(n.store, absent)
		if whole {
			c.part.Store.SetStep(n.store.Step())
		}
		c.st.Remade.Add(2)
	})
	if c.epochs.anew(); c.st.Leader != nil {
		c.st.Leader.Loaded()
	}
	if whole {
		c.part.Store.SetRateFactors(n.store.Factors())
		if c.st.Leader != nil && n.found.Progress != nil { // one of a job's own checkpoints
			c.st.Leader.Did(n.found.Deeds)
		}
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
		c.st.Roster.ForgetFrozen()
	}
	c.part.Updates.Changed()
}

// takesFrozen reports whether dense params that no rule changes are among the named ones; no names mean all. Workers
// that see another number of such loads fetch the values again.
func (c *reloading) takesFrozen(params []string) bool {
	return slices.ContainsFunc(c.part.Layout.Params, func(p *optimizer.Param) bool {
		return p.Frozen && !p.Embedding && (len(params) == 0 || slices.Contains(params, p.Name))
	})
}

// report logs a load, and the workers whose gradients are of the weights before: a noted gradient was computed at those
// weights, and no cut waits for its round. The caller holds the lock.
func (c *reloading) report(n *beside) {
	c.log.Info("loaded a model into the running job", "dir", n.from.Dir, "loaded", n.from.Origin)
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

// again replays a load. The caller holds the lock. The directory must still have the same content. If it was removed
// since, this server can't come back, which is why a checkpoint is wanted after every load.
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
