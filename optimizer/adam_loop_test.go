package optimizer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestAdamLoopsAgree: every loop of this machine gives the bits of the portable one, for all lengths around a vector's, and
// leaves what is beside its slices alone.
//
// Promise: [G2] Adam has the same bits on every processor
func TestAdamLoopsAgree(t *testing.T) {
	for at, loop := range adamLoops() {
		for n := range 70 {
			want, got := trainedBy(adamPortable, n), trainedBy(loop, n)
			for i := range want {
				if math.Float32bits(want[i]) != math.Float32bits(got[i]) {
					t.Fatalf("loop %d, %d weights: number %d is %v, the portable loop has %v", at, n, i, got[i], want[i])
				}
			}
		}
	}
}

// trainedBy is w, g, m and v, each between two guards, after some steps of n weights.
func trainedBy(loop adamLoop, n int) []float32 {
	r := rand.New(rand.NewPCG(31, uint64(n)))
	all := make([]float32, 4*(n+2))
	for i := range all {
		all[i] = float32(r.NormFloat64() * math.Pow(10, float64(r.IntN(9)-6)))
	}
	part := func(i int) []float32 { return all[i*(n+2)+1:][:n:n] }
	for i, v := range part(3) {
		part(3)[i] = v * v
	}
	if n > 3 {
		part(3)[n/2], part(2)[n/2], part(1)[n/2] = 0, 0, 0
		part(1)[n-1] = math.MaxFloat32
	}
	for range 3 {
		loop(part(0), part(1), part(2), part(3), 0.9, 1-float32(0.9), 0.999, 1-float32(0.999), 1e-3, 1e-8)
	}
	return all
}

// BenchmarkAdamLoop measures the loops on rows of an embedding and on a piece of a layer.
func BenchmarkAdamLoop(b *testing.B) {
	for at, loop := range adamLoops() {
		for _, n := range []int{9, 16, 64, 4096} {
			b.Run(fmt.Sprintf("%d/%d", at, n), func(b *testing.B) {
				rows := make([][]float32, 32)
				for i := range rows {
					rows[i] = slices.Repeat([]float32{0.01}, 4*n)
				}
				for i := 0; b.Loop(); i++ {
					x := rows[i%len(rows)]
					loop(x[:n], x[n:2*n], x[2*n:3*n], x[3*n:], 0.9, 0.1, 0.999, 0.001, 1e-3, 1e-8)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/weight")
			})
		}
	}
}
