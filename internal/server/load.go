package server

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
)

// loading gives a server's tables their first values: from a checkpoint or a model, from the initial values of params,
// and from worker 0, which publishes the dense weights unless they are there. Until then no worker pulls.
//
// Loaded values take precedence. A server that loaded all params is published from the start, and worker 0 publishes
// nothing; after a load of some params, worker 0 publishes the others. Rows are not published: initial rows of params
// are made by each server, and all others are created when they are first pushed, equal everywhere.
type loading struct {
	st     *state.Job
	part   *state.Part
	frozen *frozen
	// rule is the job's rule, for which a checkpoint must have the state.
	rule  optimizer.Rule
	log   *slog.Logger
	frame state.Record // of the first weights
	// from is the directory, and the selection in it, that the tables were filled from; origin is what was found there.
	from, origin string
	// loaded are the dense blocks that a load of some params has filled: publishing leaves them unchanged.
	loaded map[*table.Dense]bool
	pieces []int // by worker: the number of pieces of the dense weights that it has published
}

// register makes the first weights, and their origin, survive a kill.
func (c *loading) register(m *state.Memory) {
	state.AddValue(m, "published", &c.st.Published)
	state.AddValue(m, "origin", &c.origin)
	state.AddValue(m, "told", &c.from)
	c.frame = state.AddRecord(m, state.KindPublish, c.take)
}

// fill fills the tables from a checkpoint, written by any number of servers, or from a saved model. told is the origin
// that the job was started with. It runs before the server serves. The weights count as published if all params were
// loaded.
func (c *loading) fill(ctx context.Context, dir string, what checkpoint.Selection, told string) (m checkpoint.Manifest,
	err error) {
	m, err = checkpoint.Restore(ctx, dir, c.part.Store, c.rule, c.part.Layout.Params, c.part.Owns, what)
	if err != nil {
		return m, fmt.Errorf("server %d: %w", c.part.Index, err)
	}
	some := len(what.Params) > 0
	if some {
		if err := c.begin(ctx, what.Params...); err != nil {
			return m, err
		}
	}
	c.st.Lock()
	defer c.st.Unlock()
	c.from, c.origin = told, m.Origin+": "+what.String()
	if copies, are := c.st.Mode.(*mode.Copies); are {
		copies.Begin(c.part.Store.Step())
	}
	c.frozen.loaded(m.Absent)
	if some {
		c.keep(what.Params)
	} else {
		c.publish()
	}
	c.log.Info("begins from "+checkpoint.From(dir, what), "loaded", m.Origin)
	return m, nil
}

// begin gives the tables the initial rows of their params, except the named params. It uses no network: each server
// makes the rows that it owns.
func (c *loading) begin(ctx context.Context, except ...string) error {
	for e, t := range c.part.Store.Tables {
		if slices.Contains(except, t.Param().Name) {
			continue
		}
		to := table.Filler{Table: t, Owns: func(id uint64) bool { return c.part.Owns(e, id) }}
		if err := to.Begin(ctx); err != nil {
			return fmt.Errorf("server %d: %w", c.part.Index, err)
		}
	}
	return nil
}

// keep makes publishing leave the named dense params unchanged. The caller holds the lock. The other params keep their
// initial values until worker 0 publishes.
func (c *loading) keep(names []string) {
	c.loaded = map[*table.Dense]bool{}
	for _, b := range c.part.Store.Blocks {
		c.loaded[b.Values] = slices.Contains(names, b.Param.Name)
	}
}

// handle sets the initial dense weights if they are not set yet. They count when their last piece has come; worker 0
// sends the pieces in order. A worker may publish pieces in several lives: the first life to send the last piece
// publishes.
func (c *loading) handle(f *wire.Frame) error {
	c.st.Lock()
	defer c.st.Unlock()
	if err := c.st.Sender(f); err != nil || c.st.Published {
		return err
	}
	if err := c.take(f); err != nil {
		return err
	}
	c.frame.Note(func(b *wire.Builder) { c.again(b, f) })
	return nil
}

// again writes a received frame as a record. take replays it, so that it has what take reads: the worker, the piece and
// its span.
func (c *loading) again(b *wire.Builder, f *wire.Frame) {
	piece, _ := f.Piece()
	w, from, to, _ := c.part.Weights(f, c.part.Floats, new([]float32))
	b.Header().Worker = f.Worker
	b.Piece(piece)
	b.Span(from, to)
	b.Dense(w)
}

// take stores a piece of the initial dense weights. The caller holds the lock. It refuses a gap in the pieces. A
// repeated piece sets the same weights.
func (c *loading) take(f *wire.Frame) error {
	p, err := f.Piece()
	if err != nil {
		return err
	}
	if p.Number > c.pieces[f.Worker] {
		return wire.Refuse(wire.StatusRefused, "worker %d publishes piece %d after %d", f.Worker, p.Number+1,
			c.pieces[f.Worker])
	}
	w, from, to, err := c.part.Weights(f, c.part.Floats, new([]float32))
	if err != nil {
		return err
	}
	err = c.part.EachBlock(from, to, func(d *table.Dense, at, lo, hi int) error {
		if c.loaded[d] {
			return nil
		}
		return d.SetAt(at, w[lo:hi])
	})
	if err != nil {
		return err
	}
	c.pieces[f.Worker] = max(c.pieces[f.Worker], p.Number+1)
	if p.Number == p.Of-1 {
		c.publish()
	}
	return nil
}

// counts reports whether a worker counts the first weights among the requests that this server has acknowledged to it:
// it has published them, or got some of them.
func (c *loading) counts(worker uint32) bool { return worker == 0 || c.part.Floats > 0 }

// forget makes a worker publish from the first piece on when a life begins. The caller holds the lock.
func (c *loading) forget(worker int) { c.pieces[worker] = 0 }

// publish opens the tables for pulls. The caller holds the lock. Waiting pulls go on.
func (c *loading) publish() {
	c.st.Published = true
	c.part.Updates.Changed()
	c.st.Broadcast()
}
