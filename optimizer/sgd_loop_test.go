package optimizer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSGDLoopsAgree: every loop of this machine gives the bits of the portable one, for all lengths around a vector's, and
// leaves what is beside its slices alone.
func TestSGDLoopsAgree(t *testing.T) {
	for at, loop := range sgdLoops() {
		for n := range 140 {
			want, got := descended(sgdPortable, n), descended(loop, n)
			for i := range want {
				if math.Float32bits(want[i]) != math.Float32bits(got[i]) {
					t.Fatalf("loop %d, %d weights: number %d is %v, the portable loop has %v", at, n, i, got[i], want[i])
				}
			}
		}
	}
}

// descended is w and g, each between two guards, after some steps of n weights.
func descended(loop sgdLoop, n int) []float32 {
	r := rand.New(rand.NewPCG(37, uint64(n)))
	all := make([]float32, 2*(n+2))
	for i := range all {
		all[i] = float32(r.NormFloat64() * math.Pow(10, float64(r.IntN(9)-6)))
	}
	w, g := all[1:][:n:n], all[n+3:][:n:n]
	if n > 2 {
		g[n-1], g[n/2] = math.MaxFloat32, float32(math.Inf(1))
	}
	for range 3 {
		loop(w, g, 0.37)
	}
	return all
}

// BenchmarkSGDLoop measures the loops on rows of an embedding and on a piece of a layer.
func BenchmarkSGDLoop(b *testing.B) {
	for at, loop := range sgdLoops() {
		for _, n := range []int{9, 16, 64, 16384} {
			b.Run(fmt.Sprintf("%d/%d", at, n), func(b *testing.B) {
				w, g := make([]float32, n), slices.Repeat([]float32{0.01}, n)
				for b.Loop() {
					loop(w, g, 1e-3)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/weight")
			})
		}
	}
}
