package update

import (
	"slices"

	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/panics"
	"github.com/gofleet/gofleet/internal/table"
)

// Apply makes one gradient of an update's pushes, applies it, and finishes the step. It returns the number of rows that
// the tables' policies dropped. The caller calls Changed when the update counts.
func (t *Tables) Apply(u *Update) (dropped int, err error) {
	c := scratches.Get().(*scratch)
	defer c.release()
	defer caught(&err)
	c.gather(t, u)
	dense, err := c.gradient()
	if dropped, err = c.change(dense, err); err == nil && u.Record != nil {
		err = u.Record(c.applied(dense, dropped))
	}
	return dropped, err
}

// caught turns the panic of a rule, which may be the program's own, into the error of the update, with its line. The
// job then fails, and every role learns why.
func caught(err *error) {
	if v := recover(); v != nil {
		*err = panics.Error("the update rule", v)
	}
}

// change applies an update's gradient to the tables, unless there is an error, and finishes its step.
func (c *scratch) change(dense []float32, err error) (dropped int, _ error) {
	c.t.moment.is.RLock()
	defer c.t.moment.is.RUnlock()
	defer c.t.store.Finish(c.u.Step)
	if err == nil {
		err = c.applyDense(dense)
	}
	if err != nil {
		return 0, err
	}
	err = c.each(func(c *scratch, p *portion) error { return p.apply(c.t, c.u) })
	for _, p := range c.portions[:c.inUse] {
		dropped += p.dropped
	}
	return dropped, err
}

// gradient is the dense gradient of an update, in the form for the rules; the gradient of rows is in the portions.
func (c *scratch) gradient() (dense []float32, err error) {
	err = c.each(func(c *scratch, p *portion) error {
		p.fold(c.t.layout.Params[p.param], c.factors, c.t.o.Weighting)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if c.u.Label != nil {
		c.u.Label("")
	}
	if dense, err = c.compensate(c.foldDense()); err != nil {
		return nil, err
	}
	return c.clip(dense)
}

// applied is the applied gradient, for the record.
func (c *scratch) applied(dense []float32, dropped int) Applied {
	a := Applied{Step: c.u.Step, Dropped: dropped, Dense: dense}
	for _, p := range c.portions[:c.inUse] {
		if len(p.rows.IDs) > 0 {
			slices.Sort(p.refused)
			a.Rows = append(a.Rows, AppliedRows{p.embedding, p.rows, p.refused})
		}
	}
	return a
}

// Play applies a recorded gradient again.
func (t *Tables) Play(a Applied) error {
	for i, b := range t.part.Blocks {
		if err := t.store.Blocks[i].Values.Push(a.Dense[b.At:][:b.Size], a.Step); err != nil {
			return err
		}
	}
	for _, r := range a.Rows {
		var clicks table.Clicks
		clicks.Show, clicks.Click = r.AppendClicks(nil, nil)
		if err := t.store.Tables[r.Embedding].Play(r.IDs, r.G, clicks, a.Step, r.Refused); err != nil {
			return err
		}
	}
	return nil
}

// foldDense is the dense gradient of the update; for one push it is the worker's own memory.
func (c *scratch) foldDense() []float32 {
	if c.u.Dense != nil {
		return c.u.Dense
	}
	if len(c.members) == 1 {
		return c.members[0]
	}
	c.dense = grow(c.dense, len(c.members[0]))
	gradient.FoldDense(c.dense, c.members, c.factors)
	return c.dense
}

// compensate returns the dense gradient corrected to the current weights of the tables, by [gradient.Compensate]. Rows
// need no correction: they are pulled for the step that pushes them.
func (c *scratch) compensate(g []float32) ([]float32, error) {
	pulled := c.u.Pushes[0].Pulled
	if c.t.o.Delay == 0 || pulled == nil {
		return g, nil
	}
	c.dense = grow(c.dense, len(g))
	for i, b := range c.t.part.Blocks {
		if err := c.t.store.Blocks[i].Values.Pull(c.dense[b.At:][:b.Size]); err != nil {
			return nil, err
		}
	}
	gradient.Compensate(c.dense, g, pulled, c.t.o.Delay)
	return c.dense, nil
}

// applyDense updates the dense blocks. An update of one push computes the predicted weights for its answer, if that
// asks for them.
func (c *scratch) applyDense(g []float32) error {
	var a *Ahead
	if len(c.u.Pushes) == 1 {
		a = c.u.Pushes[0].Ahead
	}
	before := c.t.Version()
	for i, b := range c.t.part.Blocks {
		d, g := c.t.store.Blocks[i].Values, g[b.At:][:b.Size]
		var err error
		if a == nil {
			err = d.Push(g, c.u.Step)
		} else {
			err = d.PushAhead(g, a.Dense[b.At:][:b.Size], c.u.Step, a.updates(before))
		}
		if err != nil {
			return err
		}
	}
	if a != nil {
		a.Version = before + 1
	}
	return nil
}

// grow returns a slice of n floats, b itself if it has room.
func grow(b []float32, n int) []float32 {
	if cap(b) < n {
		return make([]float32, n)
	}
	return b[:n]
}
