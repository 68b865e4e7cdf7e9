package update

import (
	"sync"
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// Push is one worker's gradient for the tables of one server. Its memory is not written to, and stays as it is until Apply
// returns.
type Push struct {
	Samples int
	Dense   []float32       // as long as the part
	Rows    []gradient.Rows // by embedding, in the layout's order
	// Pulled are the dense weights that it was computed at, for delay compensation; nil if they are not known.
	Pulled []float32
	// Ahead takes the dense weights of the push's answer, if the update has no other push; nil if nothing is foreseen.
	Ahead *Ahead
	// Watches note its rows for all workers but its own, by embedding; nil where nobody asks what has changed.
	Watches []*table.Watch
}

// Update is one change of the tables.
type Update struct {
	Step   int64 // of the store
	Pushes []*Push
	// Sum makes the sums of squares of this part's gradient, by param, those of the gradient of all servers, where a rule
	// clips by norm. It may wait for them. nil says that this server has all of it.
	Sum func(own []gradient.Squares) ([]gradient.Squares, error)
}

// Options say how updates are made; zero says nothing of the kind.
type Options struct {
	Weighting strategy.Weighting
	// Delay is the λ of delay compensation.
	Delay float32
	// Clip limits the gradient of an update by its norm, as far as pushes have not been limited already.
	Clip optimizer.NormClipper
}

// Tables are those of a server, to be updated.
type Tables struct {
	store   *table.Store
	layout  *layout.Layout
	part    layout.Part
	o       Options
	version atomic.Uint64
}

// New are the tables of a part of a layout.
func New(store *table.Store, l *layout.Layout, part int, o Options) *Tables {
	return &Tables{store: store, layout: l, part: l.Parts[part], o: o}
}

// Version counts the changes of the dense weights; a worker that has the current one need not be sent them again.
func (t *Tables) Version() uint64 { return t.version.Load() }

// Changed says that the dense weights are others than before, and returns the version that they had.
func (t *Tables) Changed() (before uint64) { return t.version.Add(1) - 1 }

// scratch is the memory that an update needs.
type scratch struct {
	t        *Tables
	u        *Update
	samples  []int
	factors  []float32
	dense    []float32
	members  [][]float32 // dense gradients, by push
	portions []*portion
	inUse    int // of the portions
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// Apply makes one gradient of an update's pushes and applies it. It returns how many rows a table's policies dropped. The caller
// says Changed when the update counts.
func (t *Tables) Apply(u *Update) (dropped int, err error) {
	c := scratches.Get().(*scratch)
	defer c.release()
	c.begin(t, u)
	if err := c.each((*portion).fold); err != nil {
		return 0, err
	}
	dense, err := c.compensate(c.foldDense())
	if err != nil {
		return 0, err
	}
	if dense, err = c.clip(dense); err != nil {
		return 0, err
	}
	if err := c.applyDense(dense); err != nil {
		return 0, err
	}
	err = c.each((*portion).apply)
	for _, p := range c.portions[:c.inUse] {
		dropped += p.dropped
	}
	return dropped, err
}

// begin takes up an update's pushes.
func (c *scratch) begin(t *Tables, u *Update) {
	c.t, c.u, c.samples, c.members = t, u, c.samples[:0], c.members[:0]
	for _, p := range u.Pushes {
		c.samples, c.members = append(c.samples, p.Samples), append(c.members, p.Dense)
	}
	c.factors = gradient.Factors(c.factors[:0], t.o.Weighting, c.samples)
	c.cut()
}

// release gives the memory back for another update, and lets go of this one's.
func (c *scratch) release() {
	c.t, c.u = nil, nil
	clear(c.members)
	scratches.Put(c)
}

// foldDense is the dense gradient of the update; that of one push is the worker's own.
func (c *scratch) foldDense() []float32 {
	if len(c.members) == 1 {
		return c.members[0]
	}
	c.dense = grow(c.dense, len(c.members[0]))
	gradient.FoldDense(c.dense, c.members, c.factors)
	return c.dense
}

// compensate is the dense gradient as it would be at the weights that the tables have come to, as [gradient.Compensate] says.
// Rows need none: they are pulled for the step that pushes them.
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

// applyDense updates the dense blocks. An update of one push leaves in its Ahead the weights of its answer.
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
