package kernels

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// tries is how often to repeat a random trial: as [law.Tries] says, and less where the race detector slows all down.
func tries(n int) int {
	if raceEnabled {
		return (n + 15) / 16
	}
	return law.Tries(n)
}

// random are n numbers in [-1, 1).
func random(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = 2*r.Float32() - 1
	}
	return x
}

func fill(x []float32, v float32) {
	for i := range x {
		x[i] = v
	}
}

// guarded is a slice between two margins of NaN, which spoil a result that reads them and show who writes there.
type guarded struct{ all, data []float32 }

const margin = 64

// mark is a NaN that no arithmetic makes.
var mark = math.Float32frombits(0x7fc0beef)

func guard(x []float32) guarded {
	all := make([]float32, len(x)+2*margin)
	fill(all, mark)
	data := all[margin : margin+len(x) : margin+len(x)]
	copy(data, x)
	return guarded{all, data}
}

func (g guarded) check(t *testing.T) {
	t.Helper()
	for i, v := range g.all {
		outside := i < margin || i >= margin+len(g.data)
		if outside && math.Float32bits(v) != math.Float32bits(mark) {
			t.Fatalf("element %d of %d was written", i-margin, len(g.data))
		}
	}
}

// sameBits fails unless both are equal, bit by bit.
func sameBits(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("%s: element %d of %d is %v, want %v", what, i, len(want), got[i], want[i])
		}
	}
}

// near fails unless got is within bound of want; a NaN is near a NaN only, an infinity near itself only.
func near(t *testing.T, what string, i int, got float32, want, bound float64) {
	t.Helper()
	switch {
	case math.IsNaN(want) && math.IsNaN(float64(got)), float64(got) == want:
	case !(math.Abs(float64(got)-want) <= bound):
		t.Fatalf("%s: element %d is %v, want %v ± %v", what, i, got, want, bound)
	}
}
