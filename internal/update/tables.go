package update

import (
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// Push is one worker's gradient for the tables of one server. Its memory is not written to, and must not change until
// Apply returns.
type Push struct {
	Samples int
	Dense   []float32       // as long as the part
	Rows    []gradient.Rows // by embedding, in the layout's order
	// Pulled are the dense weights at which it was computed, for delay compensation; nil if they are not known.
	Pulled []float32
	// Ahead receives the predicted dense weights for the push's answer, if the update has no other push; nil if nothing
	// is predicted.
	Ahead *Ahead
	// Watches record its rows for all workers but its own, by embedding; nil if changes are not recorded.
	Watches []*table.Watch
}

// Update is one change of the tables.
type Update struct {
	Step   int64 // of the store
	Pushes []*Push
	// Dense is the dense gradient of all pushes, if it has been added up already; the update may write to it.
	Dense []float32
	// Sum returns the sums over all servers for this part's sums of squares, by param, if a rule clips by norm. It may
	// wait for the other servers. nil means that this server has the whole gradient.
	Sum func(own []gradient.Squares) ([]gradient.Squares, error)
	// Record is called with what was applied, before the update counts. The memory is valid until Record returns. nil
	// records nothing.
	Record func(Applied) error
	// Label labels this goroutine in a profile with the update and a table, "" for none. It is nil while no profile is
	// taken.
	Label func(table string)
}

// Applied is the gradient of an update in the form that the rules got, which [Tables.Play] applies again.
type Applied struct {
	Step    int64
	Dropped int // rows that policies dropped
	Dense   []float32
	Rows    []AppliedRows
}

// AppliedRows are rows of an embedding; Embedding is its place in the layout.
type AppliedRows struct {
	Embedding int
	gradient.Rows
	Refused []uint64 // ascending: the ids that the table's policies dropped
}

// Options configure updates; a zero field turns its stage off.
type Options struct {
	Weighting strategy.Weighting
	// Delay is the λ of delay compensation.
	Delay float32
	// Clip limits the gradient of an update by its norm, if pushes have not been limited already.
	Clip optimizer.NormClipper
}

// Tables are a server's tables.
type Tables struct {
	store   *table.Store
	layout  *layout.Layout
	part    layout.Part
	o       Options
	version atomic.Uint64
	moment  moment
}

// New returns the tables of a part of a layout.
func New(store *table.Store, l *layout.Layout, part int, o Options) *Tables {
	return &Tables{store: store, layout: l, part: l.Parts[part], o: o}
}

// Version counts the changes of the dense weights; a worker that has the current one need not be sent them again.
func (t *Tables) Version() uint64 { return t.version.Load() }

// SetVersion sets the version, above those that an earlier process has given out.
func (t *Tables) SetVersion(v uint64) { t.version.Store(v) }

// Changed notes that the dense weights have changed, and returns the version that they had.
func (t *Tables) Changed() (before uint64) { return t.version.Add(1) - 1 }
