package update

import (
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// Push is one worker's gradient for the tables of one server. Its memory is not written to, and stays as it is until
// Apply returns.
type Push struct {
	Samples int
	Dense   []float32       // as long as the part
	Rows    []gradient.Rows // by embedding, in the layout's order
	// Pulled are the dense weights that it was computed at, for delay compensation; nil if they are not known.
	Pulled []float32
	// Ahead takes the dense weights of the push's answer, if the update has no other push; nil if nothing is foreseen.
	Ahead *Ahead
	// Watches note its rows for all workers but its own, by embedding; nil where changes are not asked for.
	Watches []*table.Watch
}

// Update is one change of the tables.
type Update struct {
	Step   int64 // of the store
	Pushes []*Push
	// Dense is the dense gradient of all pushes, if it has been added up already; the update may write to it.
	Dense []float32
	// Sum turns the sums of squares of this part's gradient, by param, into the sums of all servers, where a
	// rule clips by norm. It may wait for them. nil says that this server has all of it.
	Sum func(own []gradient.Squares) ([]gradient.Squares, error)
	// Record is told what was applied, before the update counts. Its memory lasts until Record returns. nil records
	// nothing.
	Record func(Applied) error
	// Label has a profile say that this goroutine works for the update, with a table or, where it is empty, without.
	// nil while none is taken.
	Label func(table string)
}

// Applied is the gradient of an update as the rules have got it, which [Tables.Play] applies again.
type Applied struct {
	Step    int64
	Dropped int // rows that policies dropped
	Dense   []float32
	Rows    []AppliedRows
}

// AppliedRows are rows of an embedding, by its place in the layout.
type AppliedRows struct {
	Embedding int
	gradient.Rows
	Refused []uint64 // ascending: the ids that the table's policies dropped
}

// Options say how updates are made; zero says nothing of the kind.
type Options struct {
	Weighting strategy.Weighting
	// Delay is the λ of delay compensation.
	Delay float32
	// Clip limits the gradient of an update by its norm, as far as pushes have not been limited already.
	Clip optimizer.NormClipper
}

// Tables are a server's, to be updated.
type Tables struct {
	store   *table.Store
	layout  *layout.Layout
	part    layout.Part
	o       Options
	version atomic.Uint64
	moment  moment
}

// New are the tables of a part of a layout.
func New(store *table.Store, l *layout.Layout, part int, o Options) *Tables {
	return &Tables{store: store, layout: l, part: l.Parts[part], o: o}
}

// Version counts the changes of the dense weights; a worker that has the current one need not be sent them again.
func (t *Tables) Version() uint64 { return t.version.Load() }

// SetVersion is for weights that a process before this one had other versions of.
func (t *Tables) SetVersion(v uint64) { t.version.Store(v) }

// Changed says that the dense weights are others than before, and returns the version that they had.
func (t *Tables) Changed() (before uint64) { return t.version.Add(1) - 1 }
