package kernels

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// TestPackedIsGemm: a product with a packed matrix has the bits of the same product without, for sizes around those of tiles and blocks, and
// leaves nothing behind for the product after it.
//
// Promise: [G13] a product with packed weights has the bits of the product
func TestPackedIsGemm(t *testing.T) {
	law.Slow(t)
	r := rand.New(rand.NewPCG(1, 2))
	eachPath(t, func(t *testing.T) {
		for _, k := range []int{2, 5, 400, blockDepth, blockDepth + 3} {
			for _, n := range []int{2, 31, 33, 400, blockWidth + 5} {
				b := random(r, k*n)
				packed := Pack(k, n, b)
				for _, m := range []int{2, 3, 8, 13, 50} {
					a, want, got := random(r, m*k), make([]float32, m*n), make([]float32, m*n)
					Gemm(false, false, m, n, k, a, b, want, false)
					GemmPacked(m, a, packed, got)
					sameBits(t, fmt.Sprintf("%d×%d·%d×%d", m, k, k, n), got, want)
				}
			}
		}
	})
}

// BenchmarkFewRows is products of few rows, as requests to a model make: B as it is, and packed.
func BenchmarkFewRows(b *testing.B) {
	for _, size := range []int{400, 2000} {
		w := make([]float32, size*size)
		packed := Pack(size, size, w)
		for _, m := range []int{2, 4, 8, 16, 64} {
			x, y := make([]float32, m*size), make([]float32, m*size)
			for name, f := range map[string]func(){
				"plain":  func() { Gemm(false, false, m, size, size, x, w, y, false) },
				"packed": func() { GemmPacked(m, x, packed, y) },
			} {
				b.Run(fmt.Sprintf("%d/%d/%s", size, m, name), func(b *testing.B) {
					for b.Loop() {
						f()
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(m), "ns/row")
				})
			}
		}
	}
}
