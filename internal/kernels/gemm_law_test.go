package kernels

import (
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// TestGemmThreads: the result has the same bits whatever the number of goroutines, and whoever else multiplies meanwhile.
//
// Promise: [G2] bits don't depend on the number of threads and cores
func TestGemmThreads(t *testing.T) {
	law.Slow(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	eachPath(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(27, 28))
		for _, p := range []product{{m: 403, n: 131, k: 601}, {transA: true, m: 97, n: 1030, k: 515, accumulate: true}} {
			a, b, start := p.operands(r)
			runtime.GOMAXPROCS(1)
			want := p.result(a, b, start)
			for _, threads := range []int{2, 3, 8} {
				runtime.GOMAXPROCS(threads)
				var all sync.WaitGroup
				var got [2][]float32
				for i := range got {
					all.Go(func() { got[i] = p.result(a, b, start) })
				}
				all.Wait()
				sameBits(t, p.String(), got[0], want)
				sameBits(t, p.String(), got[1], want)
			}
		}
	})
}

// result is what Gemm makes of a copy of c.
func (p product) result(a, b, c []float32) []float32 {
	c = append([]float32(nil), c...)
	p.run(a, b, c)
	return c
}

// TestGemmSlices: rows of C can be had in parts, by parts of A, with the same bits; so can columns by parts of B.
func TestGemmSlices(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(29, 30))
		whole := product{transB: true, m: 101, n: 67, k: 530}
		a, b, c := whole.operands(r)
		want := whole.result(a, b, c)
		for _, m := range []int{2, 47, 49, 100} {
			part := whole
			part.m = m
			sameBits(t, part.String(), part.result(a[:m*whole.k], b, c[:m*whole.n]), want[:m*whole.n])
		}
	})
}

// TestGemmNaN: a NaN or an infinity in A spoils its row of C and no other; one in B its column. An infinity meets a zero.
func TestGemmNaN(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(31, 32))
		for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1))} {
			for range tries(40) {
				everyKind(r.IntN(50)+1, r.IntN(50)+1, r.IntN(50)+1, func(p product) { p.checkSpoiled(t, r, bad) })
			}
		}
	})
}

func (p product) checkSpoiled(t *testing.T, r *rand.Rand, bad float32) {
	t.Helper()
	a, b, c := constant(p.m*p.k, 0), constant(p.k*p.n, 0), constant(p.m*p.n, 0)
	i, q := r.IntN(p.m), r.IntN(p.k)
	p.set(a, p.transA, i, q, p.m, p.k, bad)
	p.run(a, b, c)
	for at, v := range c {
		if at/p.n == i {
			isNaN(t, p.String(), v)
		} else if v != 0 {
			t.Fatalf("%v: C[%d,%d] = %v, spoiled by row %d of A", p, at/p.n, at%p.n, v, i)
		}
	}
	fill(a, 0)
	fill(c, 0)
	j := r.IntN(p.n)
	p.set(b, p.transB, q, j, p.k, p.n, bad)
	p.run(a, b, c)
	for at, v := range c {
		if at%p.n == j {
			isNaN(t, p.String(), v)
		} else if v != 0 {
			t.Fatalf("%v: C[%d,%d] = %v, spoiled by column %d of B", p, at/p.n, at%p.n, v, j)
		}
	}
}

func (p product) set(x []float32, trans bool, i, j, rows, cols int, v float32) {
	if trans {
		x[j*rows+i] = v
	} else {
		x[i*cols+j] = v
	}
}

// TestGemmEmpty: a product over nothing is zero; one of nothing touches nothing.
func TestGemmEmpty(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		c := constant(6, 7)
		Gemm(false, false, 2, 3, 0, nil, nil, c, true)
		sameBits(t, "added", c, constant(6, 7))
		Gemm(true, false, 2, 3, 0, nil, nil, c, false)
		sameBits(t, "written", c, constant(6, 0))
		Gemm(false, false, 0, 3, 2, nil, c, nil, false)
		Gemm(false, true, 2, 0, 3, c, nil, nil, true)
	})
}

func TestGemmAllocatesNothingWarm(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector empties pools")
	}
	eachPath(t, func(t *testing.T) {
		p := product{m: 200, n: 190, k: 100}
		a, b, c := p.operands(rand.New(rand.NewPCG(33, 34)))
		if n := testing.AllocsPerRun(20, func() { p.run(a, b, c) }); n >= 1 {
			t.Errorf("%v allocations a call, want none", n)
		}
		gemmAll := func() {
			A, B := operand(a, p.k, p.m, false), operand(b, p.n, p.k, false)
			gemmBlocked(A, B, p.m, p.n, p.k, c, false, 4)
		}
		if n := testing.AllocsPerRun(20, gemmAll); n >= 1 {
			t.Errorf("%v allocations a call with 4 goroutines, want none", n)
		}
	})
}

// TestGemmColumns: columns of C can be had in parts, by parts of B, with the same bits, however wide a part is.
func TestGemmColumns(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(33, 34))
		for _, accumulate := range []bool{false, true} {
			whole := product{transB: true, m: 21, n: 80, k: 530, accumulate: accumulate}
			a, b, c := whole.operands(r)
			want := whole.result(a, b, c)
			for n := 2; n < whole.n; n++ {
				part, start, first := whole, []float32(nil), []float32(nil)
				part.n = n
				for i := range whole.m {
					start = append(start, c[i*whole.n:][:n]...)
					first = append(first, want[i*whole.n:][:n]...)
				}
				sameBits(t, part.String(), part.result(a, b[:n*whole.k], start), first)
			}
		}
	})
}
