package table

import (
	"testing"

	"github.com/gofleet/gofleet/optimizer"
)

// TestEdit sets the weights and the state of a dense block, piece by piece.
func TestEdit(t *testing.T) {
	const n = denseChunk + 10
	d, seen := NewDense(n, optimizer.Momentum{LR: 1, Momentum: 0.5}), 0
	d.Edit(func(at int, w, state []float32) {
		if at != seen {
			t.Errorf("a piece begins at %d, want %d", at, seen)
		}
		seen += len(w)
		for i := range w {
			w[i], state[i] = float32(at+i), 1
		}
	})
	check(t, d.Push(make([]float32, n), 1)) // the state of 1 moves every weight by 0.5
	w := make([]float32, n)
	check(t, d.Pull(w))
	if seen != n || w[0] != -0.5 || w[n-1] != n-1.5 {
		t.Errorf("%d of %d visited, weights from %v to %v", seen, n, w[0], w[n-1])
	}
}
