package gradient

import (
	"slices"
	"testing"
)

// TestCompensate: a gradient of 2 at a weight that has gone from 1 to 4 meanwhile.
func TestCompensate(t *testing.T) {
	for lambda, want := range map[float32][]float32{0: {2, -2, 3}, 1: {14, 10, 3}, 0.5: {8, 4, 3}} {
		w := []float32{4, 4, 7}
		Compensate(w, []float32{2, -2, 3}, []float32{1, 1, 7}, lambda)
		if !slices.Equal(w, want) {
			t.Errorf("λ %v: %v, want %v", lambda, w, want)
		}
	}
}
