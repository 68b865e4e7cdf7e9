package session

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/optimizer"
)

// Frozen are a worker's values of frozen dense params, which training may compute without gradients, as batch norm does
// its statistics. They take no part in pushes and pulls: servers have them in checkpoints alone. The zero version means
// that none were set since the worker was made.
type Frozen struct {
	l       *layout.Layout
	version atomic.Int64 // how often they were set
	mu      sync.Mutex   // guards what follows, and params' W while it is written
	w       [][]float32  // by param; nil while they are the params' first values
}

// newFrozen has no values that were set.
func newFrozen(l *layout.Layout) Frozen { return Frozen{l: l, w: make([][]float32, len(l.Params))} }

// Set makes a copy of w the values of a param, which sessions see from their next step on. It may be called beside
// steps.
func (f *Frozen) Set(param int, w []float32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.w[param] = slices.Clone(w)
	f.version.Add(1)
}

// Install copies into params what was set since the version that they have, and returns the version that they have now.
// Of version -1 they are new, and have nothing yet. A session calls it at each step; it copies only where values were
// set since.
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

// Values are a copy of all, one param after the other, in the order of the layout. Where none were set these are the
// first values of the params.
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
