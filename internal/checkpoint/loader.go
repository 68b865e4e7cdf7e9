package checkpoint

import (
	"context"
	"fmt"

	"github.com/gofleet/gofleet/internal/table"
)

type loader struct {
	ctx   context.Context // of the call
	store *table.Store
	owns  func(int, uint64) bool
	names []string // of the params to load; none means all
	// weights are all that is taken.
	weights bool
	blocks  []loading
	absent  []string                        // dense params that stay as they are
	waiting map[int]map[uint64]table.Waiter // by table
	chain   table.Chain                     // of the parts that were read
	chained bool
}

// loading is a block being put together.
type loading struct {
	w, state []float32
	left     int // weights still missing
	// stateless blocks take weights alone.
	stateless bool
	have      []span
	step      int64
}

// span is the elements [lo, hi) of a param.
type span struct{ lo, hi int }

// claim notes that the elements of a span are there now. None may come twice: others would be missing then.
func (to *loading) claim(s span) error {
	for _, o := range to.have {
		if s.lo < o.hi && o.lo < s.hi {
			return fmt.Errorf("elements %d to %d come twice: %w", max(s.lo, o.lo), min(s.hi, o.hi), ErrDamaged)
		}
	}
	to.have, to.left = append(to.have, s), to.left-(s.hi-s.lo)
	return nil
}

// takes says whether a param is loaded.
func (l *loader) takes(param string) bool {
	return among(l.names, param)
}

// stepOf is the number of an update in the store, given that in the file.
func (l *loader) stepOf(step int64) int64 {
	if len(l.names) > 0 || l.weights {
		return l.store.Step()
	}
	return step
}

// find is what fills the table of an embedding, and the table's place in the store; nil if there is none.
func (l *loader) find(param string) (*table.Filler, int) {
	for i, t := range l.store.Tables {
		if t.Param().Name == param {
			return &table.Filler{Table: t, Owns: func(id uint64) bool { return l.owns(i, id) }}, i
		}
	}
	return nil, 0
}

// Selection says what is taken of a directory. The zero value is everything.
type Selection struct {
	// Params are the names of the params to take; none means all.
	Params []string
	// WeightsOnly takes a checkpoint under any rule, without the state: that is the store's rule's initial one, and
	// updates are counted from where the store is. What tables know of rows beside their rule stays: shows, clicks and
	// the last periods they were seen in, and the ids that wait.
	WeightsOnly bool
}

// String is what is taken, in words.
func (s Selection) String() string {
	what := "everything"
	if s.WeightsOnly {
		what = "weights"
	}
	if len(s.Params) > 0 {
		what += fmt.Sprintf(" of params %q", s.Params)
	}
	return what
}
