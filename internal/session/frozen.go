package session

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/optimizer"
)

// Frozen has a worker's values of frozen dense params, which training may compute without gradients, such as the
// statistics of batch norm. They take no part in pushes and pulls: servers have them in checkpoints alone. The zero
// version means that none were set since the worker was made.
type Frozen struct {
	l       *layout.Layout
	version atomic.Int64 // how often they were set
	mu      sync.Mutex   // guards the fields below, and params' W while it is written
	w       [][]float32  // by param; nil while they are the params' initial values
}

// newFrozen has no values that were set.
func newFrozen(l *layout.Layout) Frozen { return Frozen{l: l, w: make([][]float32, len(l.Params))} }

// Set sets the values of a param to a copy of w; sessions use them from their next step on. It may be called during
// steps.
func (f *Frozen) Set(param int, w []float32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.w[param] = slices.Clone(w)
	f.version.Add(1)
}

// Install copies into params the values that were set since version has, and returns the version that they have then.
// New params have version -1. A session calls it at each step; it copies only if values were set since.
func (f *Frozen) Install(params []*optimizer.Param, has int64) int64 {
	if f.version.Load() == has {
		return has
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, w := range f.w {
		if p := f.l.Params[i]; w == nil && has < 0 && p.Frozen && !p.Embedding {
			w = p.W
		}
		if w != nil {
			copy(params[i].W, w)
		}
	}
	return f.version.Load()
}

// Values returns a copy of all values, one param after the other, in the order of the layout: the params' initial
// values if none were set.
func (f *Frozen) Values() []float32 {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make([]float32, 0, f.l.Frozen.Floats)
	for _, b := range f.l.Frozen.Blocks {
		w := f.w[b.Param]
		if w == nil {
			w = f.l.Params[b.Param].W
		}
		all = append(all, w...)
	}
	return all
}
