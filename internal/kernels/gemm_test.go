package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// product is one call of Gemm.
type product struct {
	transA, transB bool
	m, n, k        int
	accumulate     bool
}

func (p product) String() string {
	return fmt.Sprintf("%dx%dx%d transA=%v transB=%v accumulate=%v", p.m, p.n, p.k, p.transA, p.transB, p.accumulate)
}

// operands are random slices of the right lengths.
func (p product) operands(r *rand.Rand) (a, b, c []float32) {
	return random(r, p.m*p.k), random(r, p.k*p.n), random(r, p.m*p.n)
}

// oracle is Gemm in float64, by the definition. It returns the result and, beside each element, the sum of the magnitudes
// that went into it, by which rounding errors are judged.
func (p product) oracle(a, b, c []float32) (want, size []float64) {
	want, size = make([]float64, p.m*p.n), make([]float64, p.m*p.n)
	for i := range p.m {
		for j := range p.n {
			var sum, abs float64
			if p.accumulate {
				sum = float64(c[i*p.n+j])
				abs = math.Abs(sum)
			}
			for q := range p.k {
				v := float64(p.at(a, p.transA, i, q, p.m, p.k)) * float64(p.at(b, p.transB, q, j, p.k, p.n))
				sum += v
				abs += math.Abs(v)
			}
			want[i*p.n+j], size[i*p.n+j] = sum, abs
		}
	}
	return want, size
}

func (p product) at(x []float32, trans bool, i, j, rows, cols int) float32 {
	if trans {
		return x[j*rows+i]
	}
	return x[i*cols+j]
}

func (p product) run(a, b, c []float32) {
	Gemm(p.transA, p.transB, p.m, p.n, p.k, a, b, c, p.accumulate)
}

// check runs Gemm between guards, which it must not touch, and compares with the oracle. Without accumulate C starts as NaN,
// which must not be seen.
func (p product) check(t *testing.T, r *rand.Rand) {
	t.Helper()
	a, b, c := p.operands(r)
	want, size := p.oracle(a, b, c)
	if !p.accumulate {
		fill(c, float32(math.NaN()))
	}
	guarded := guard(c)
	p.run(guard(a).data, guard(b).data, guarded.data)
	guarded.check(t)
	for i, v := range guarded.data {
		if bound := 1e-6 * (size[i] + 1e-30); !(math.Abs(float64(v)-want[i]) <= bound) {
			t.Fatalf("%v: C[%d,%d] = %v, want %v ± %v", p, i/p.n, i%p.n, v, want[i], bound)
		}
	}
}

// everyKind calls f with the eight combinations of the flags.
func everyKind(m, n, k int, f func(p product)) {
	for bits := range 8 {
		f(product{bits&1 != 0, bits&2 != 0, m, n, k, bits&4 != 0})
	}
}

func TestGemmSmallShapes(t *testing.T) {
	law.Slow(t)
	eachPath(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		for range tries(300) {
			everyKind(r.IntN(70)+1, r.IntN(70)+1, r.IntN(70)+1, func(p product) { p.check(t, r) })
		}
	})
}

func TestGemmLargeShapes(t *testing.T) {
	law.Slow(t)
	shapes := [][3]int{{129, 37, 1030}, {67, 1100, 33}, {64, 128, 784}, {131, 1, 517}, {1, 257, 300}, {512, 163, 401}, {513, 9, 2}, {65, 1024, 33}}
	eachPath(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 4))
		for _, s := range shapes[:tries(len(shapes))] {
			everyKind(s[0], s[1], s[2], func(p product) { p.check(t, r) })
		}
	})
}

// TestCombineRows: rows that meet a zero are left out of a sum with the bits of the product that has them, whatever else stands in them.
func TestCombineRows(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(33, 34))
		for _, shape := range [][2]int{{1, 2}, {7, 5}, {64, 33}, {400, 400}} {
			p := product{m: 1, n: shape[1], k: shape[0]}
			x, a, y := p.operands(r)
			for i := range x {
				if r.IntN(2) == 0 {
					x[i] = 0
				}
			}
			want := p.result(x, a, y)
			for i := range x {
				if x[i] == 0 {
					a[i*p.n] = float32(math.NaN()) // is not read
				}
			}
			fill(y, float32(math.NaN()))
			CombineRows(y, x, a)
			sameBits(t, p.String(), y, want)
		}
	})
}
