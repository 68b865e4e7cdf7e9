package checkpoint

import (
	"context"
	"fmt"

	"github.com/gofleet/gofleet/internal/table"
)

type loader struct {
	ctx   context.Context // of the call of Restore
	store *table.Store
	owns  func(int, uint64) bool
	names []string // the params to load; empty means all
	// weights says that only weights are loaded, without state.
	weights bool
	blocks  []loading
	absent  []string                        // dense params that stay as they are
	waiting map[int]map[uint64]table.Waiter // by table
	chain   table.Chain                     // of the parts read so far
	chained bool
}

// loading is a block that is put together from parts.
type loading struct {
	w, state []float32
	left     int // weights still missing
	// stateless says that the block takes weights without state.
	stateless bool
	have      []span
	step      int64
}

// span is the elements [lo, hi) of a param.
type span struct{ lo, hi int }

// claim records that the elements of a span were read. A second time is an error, since others would be missing.
func (to *loading) claim(s span) error {
	for _, o := range to.have {
		if s.lo < o.hi && o.lo < s.hi {
			return fmt.Errorf("elements %d to %d come twice: %w", max(s.lo, o.lo), min(s.hi, o.hi), ErrDamaged)
		}
	}
	to.have, to.left = append(to.have, s), to.left-(s.hi-s.lo)
	return nil
}

// takes reports whether a param is loaded.
func (l *loader) takes(param string) bool {
	return among(l.names, param)
}

// stepOf returns the number of an update in the store for its number in the file.
func (l *loader) stepOf(step int64) int64 {
	if len(l.names) > 0 || l.weights {
		return l.store.Step()
	}
	return step
}

// find returns the filler of an embedding's table, and the table's index in the store; nil if there is none.
func (l *loader) find(param string) (*table.Filler, int) {
	for i, t := range l.store.Tables {
		if t.Param().Name == param {
			return &table.Filler{Table: t, Owns: func(id uint64) bool { return l.owns(i, id) }}, i
		}
	}
	return nil, 0
}

// Selection says what Restore takes from a directory. The zero value takes everything.
type Selection struct {
	// Params are the names of the params to take; none means all.
	Params []string
	// WeightsOnly takes weights without the rule's state, from a checkpoint under any rule. The state starts at its
	// initial values, and updates are counted from the store's step. Other columns of rows are taken: shows, clicks and
	// the periods when rows were last seen, and the ids that wait.
	WeightsOnly bool
}

// String describes the selection in words.
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
