package server

import (
	"slices"

	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
)

// frozen keeps the frozen dense params, on server 0. They take no part in training, such as the statistics of batch
// norm, and each worker has its own values. Server 0 keeps the values of the worker that saved last or of the
// checkpoint that was loaded: so they are in its part like any block, and workers that join begin with them.
type frozen struct {
	st   *state.Job
	part *state.Part
	// known has the params, by index, of which server 0 has a worker's or a checkpoint's values. Guarded by the lock.
	known map[int]bool
	saved state.Record // the values of the worker that saves
	// coming are the values received so far from the worker that saves, for the cut of that number.
	coming struct {
		number uint64
		values []float32
		loads  int64 // how many loads that worker had noticed
	}
}

// register makes the values of a worker that saves survive a kill, before a checkpoint has them.
func (c *frozen) register(m *state.Memory) {
	c.saved = state.AddRecord(m, state.KindFrozen, func(f *wire.Frame) error {
		w, _, _, err := c.part.Weights(f, c.part.FrozenFloats(), new([]float32))
		if err != nil {
			return err
		}
		return c.put(w)
	})
}

// handleKeep stores a piece of the values of the worker that saves: they count when the part of the checkpoint is
// written. It refuses a worker whose cut does not ask for them now.
func (c *frozen) handleKeep(f *wire.Frame, msg *wire.Keep, _ *state.Reply) error {
	w, from, _, err := c.part.Weights(f, c.part.FrozenFloats(), new([]float32))
	if err != nil {
		return err
	}
	c.st.Lock()
	defer c.st.Unlock()
	if err := c.st.Sender(f); err != nil {
		return err
	}
	if c.st.Leader == nil || c.st.Leader.Held(msg.ID) == 0 {
		return wire.Refuse(wire.StatusStale, "cut %s does not accept frozen values now: begin again", msg.ID)
	}
	c.coming.loads = msg.Loads
	return c.keep(msg.ID, from, w)
}

// keep stores a piece of the values, from place from on. Pieces come in order; a repeated piece changes nothing. The
// caller holds the lock. The first piece for a cut drops the values of another cut.
func (c *frozen) keep(id string, from int, w []float32) error {
	if number := c.st.Leader.Held(id); c.coming.number != number {
		c.coming.number, c.coming.values = number, nil
	}
	have, to := len(c.coming.values), from+len(w)
	if w == nil || from > have {
		return wire.Refuse(wire.StatusRefused, "cut %s: expected frozen values from %d on, got %d to %d of %d "+
			"(%d values)", id, have, from, to, c.part.FrozenFloats(), len(w))
	}
	if to > have {
		c.coming.values = append(c.coming.values[:from], w...)
	}
	return nil
}

// complete refuses a checkpoint for which values are missing. The caller holds the lock. A job without frozen params
// needs none.
func (c *frozen) complete(id string) error {
	if c.coming.number != c.st.Leader.Held(id) {
		c.coming.number, c.coming.values = c.st.Leader.Held(id), nil
	}
	if have, all := len(c.coming.values), c.part.FrozenFloats(); have != all {
		return wire.Refuse(wire.StatusRefused, "cut %s: %d of %d frozen values have come", id, have, all)
	}
	return nil
}

// brought returns the saving worker's values, or nil if it has missed a load: then those in the tables are newer. The
// caller holds the lock.
func (c *frozen) brought() []float32 {
	if c.coming.loads < c.st.Loads.Frozen {
		return nil
	}
	return c.coming.values
}

// set stores the saving worker's values, if there are any, in the tables. The caller holds the lock. It records them
// first, so that a process that comes back has them before a checkpoint does.
func (c *frozen) set(w []float32) error {
	if len(w) == 0 {
		return nil
	}
	c.saved.Note(func(b *wire.Builder) { b.Dense(w) })
	return c.put(w)
}

// put stores frozen values in the tables. The caller holds the lock. w has all of them, in the layout's order.
func (c *frozen) put(w []float32) error {
	return c.part.EachFrozen(func(b layout.Block, values *table.Dense) error {
		c.known[b.Param] = true
		return values.Set(w[b.At:][:b.Size])
	})
}

// loaded notes the params that a load has filled: all but the absent ones. The caller holds the lock. The first worker
// that saves brings the values of an absent one.
func (c *frozen) loaded(absent []string) {
	for _, b := range c.part.Frozen() {
		c.known[b.Param] = !slices.Contains(absent, b.Name)
	}
}

// handleBring answers a worker that joins with the known values, or reports that none are known: then the worker keeps
// the initial values of its params.
func (c *frozen) handleBring(f *wire.Frame, r *state.Reply) error {
	from, to, err := f.Span(c.part.FrozenFloats())
	if err != nil {
		return err
	}
	if bytes := 4 * (to - from); bytes > c.part.Limit {
		return wire.Refuse(wire.StatusRefused, "frozen values of %d bytes for worker %d: a message of server %d has "+
			"at most %d",
			bytes, f.Worker, c.part.Index, c.part.Limit)
	}
	c.st.Lock()
	defer c.st.Unlock()
	if err := c.st.Sender(f); err != nil {
		return err
	}
	var kept wire.Kept
	r.Weights = state.Grow(r.Weights, to-from)
	err = c.part.EachFrozen(func(b layout.Block, values *table.Dense) error {
		if c.known[b.Param] {
			kept.Params = append(kept.Params, b.Param)
		}
		if lo, hi := max(from, b.At), min(to, b.At+b.Size); lo < hi {
			return values.PullAt(lo-b.At, r.Weights[lo-from:hi-from])
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(kept.Params) > 0 {
		r.Dense(r.Weights)
	}
	return r.JSON(kept)
}
