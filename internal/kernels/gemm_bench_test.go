package kernels

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkGemm measures the products of the two example models: a layer's forward pass (m×n×k), the gradient of its weights
// (A transposed) and of its input (B transposed).
func BenchmarkGemm(b *testing.B) {
	shapes := [][3]int{{512, 247, 512}, {512, 512, 256}, {512, 163, 400}, {512, 400, 400}, {64, 784, 128}, {10, 273, 400}, {10, 400, 400}}
	benchPaths(b, func(b *testing.B) {
		for _, s := range shapes {
			batch, in, out := s[0], s[1], s[2]
			benchProduct(b, "forward", product{m: batch, n: out, k: in})
			benchProduct(b, "dW", product{transA: true, m: in, n: out, k: batch, accumulate: true})
			benchProduct(b, "dX", product{transB: true, m: batch, n: in, k: out})
		}
	})
}

func benchProduct(b *testing.B, what string, p product) {
	b.Run(fmt.Sprintf("%s-%dx%dx%d", what, p.m, p.n, p.k), func(b *testing.B) {
		x, y, z := p.operands(rand.New(rand.NewPCG(1, 2)))
		b.ReportAllocs()
		for b.Loop() {
			p.run(x, y, z)
		}
		flops := 2 * float64(p.m) * float64(p.n) * float64(p.k)
		b.ReportMetric(flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
	})
}

// BenchmarkGemmSmall measures what a call costs when there is little to do.
func BenchmarkGemmSmall(b *testing.B) {
	benchPaths(b, func(b *testing.B) {
		for _, s := range [][3]int{{2, 2, 2}, {8, 8, 8}, {10, 10, 32}, {16, 16, 16}, {64, 10, 128}, {512, 1, 128}, {512, 2, 128}} {
			benchProduct(b, "forward", product{m: s[0], n: s[1], k: s[2]})
			benchProduct(b, "dW", product{transA: true, m: s[2], n: s[1], k: s[0], accumulate: true})
			benchProduct(b, "dX", product{transB: true, m: s[0], n: s[2], k: s[1]})
		}
	})
}
