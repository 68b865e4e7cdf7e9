package table

import (
	"slices"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
)

// TestEdit moves what a rule's state holds into the weights of rows, old and new, and of a dense block.
func TestEdit(t *testing.T) {
	p := &optimizer.Param{Name: "rows", Shape: []int{0, 2}, Embedding: true, Init: optimizer.Constant{Value: 3}}
	table, err := NewSparse(p, optimizer.Momentum{LR: 1, Momentum: 0.5}, Options{})
	check(t, err)
	_, err = table.Push([]uint64{7}, []float32{1, 2}, 1)
	check(t, err)
	rows := make([]float32, 4)
	check(t, table.Edit([]uint64{7, 9}, func(i int, w, state []float32) {
		copy(rows[2*i:], state)
		w[0] += 10
		state[0] = 5
	}))
	if want := []float32{1, 2, 0, 0}; !slices.Equal(rows, want) {
		t.Errorf("the rows' state is %v, want %v", rows, want)
	}
	check(t, table.Pull([]uint64{7, 9}, rows, 1))
	if want := []float32{3 - 1 + 10, 3 - 2, 13, 3}; !slices.Equal(rows, want) {
		t.Errorf("the rows are %v, want %v", rows, want)
	}

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
