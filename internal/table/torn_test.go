package table

import (
	"slices"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
)

// TestNothingIsReadHalfWritten has readers look at rows, and at a chunk of a dense block, while writers add one to all of their
// weights: each row and each chunk is of one update, though rows may be of different ones.
func TestNothingIsReadHalfWritten(t *testing.T) {
	const dim, n, rounds = 48, 50, 300
	table := newSparse(t, &optimizer.Param{Name: "e", Shape: []int{0, dim}, Embedding: true}, optimizer.SGD{LR: 1})
	dense := NewDense(1000, optimizer.SGD{LR: 1})
	ids, g := make([]uint64, n), slices.Repeat([]float32{-1}, n*dim)
	for i := range ids {
		ids[i] = uint64(i) * 977
	}
	whole := slices.Repeat([]float32{-1}, 1000)
	var writers, readers sync.WaitGroup
	stop := make(chan struct{})
	for w := range 2 {
		writers.Go(func() {
			for step := range int64(rounds) {
				if _, err := table.Push(ids, g, 2*step+int64(w)+1); err != nil {
					t.Error(err)
				}
				if err := dense.Push(whole, 2*step+int64(w)+1); err != nil {
					t.Error(err)
				}
			}
		})
		readers.Go(func() {
			rows, block := make([]float32, n*dim), make([]float32, 1000)
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := table.Peek(ids, rows, 0); err != nil {
					t.Error(err)
				}
				if err := dense.Pull(block); err != nil {
					t.Error(err)
				}
				untorn(t, "a chunk", block)
				for i := range n {
					untorn(t, "a row", rows[i*dim:][:dim])
				}
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	last := make([]float32, n*dim)
	if err := table.Peek(ids, last, 0); err != nil || last[0] != 2*rounds {
		t.Errorf("%v after %d updates, error %v", last[0], 2*rounds, err)
	}
}

func untorn(t *testing.T, what string, w []float32) {
	t.Helper()
	for _, v := range w {
		if v != w[0] {
			t.Errorf("%s holds %v and %v: it was read in the middle of an update", what, w[0], v)
			return
		}
	}
}
