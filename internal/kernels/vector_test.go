package kernels

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// TestVectors compares every function on vectors with its definition, for all short lengths.
func TestVectors(t *testing.T) {
	law.Slow(t)
	eachPath(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(11, 12))
		for n := range 150 {
			checkVectors(t, random(r, n), random(r, n), r.Float32())
		}
		checkVectors(t, random(r, 10007), random(r, 10007), -3)
	})
}

func checkVectors(t *testing.T, x, y []float32, alpha float32) {
	t.Helper()
	each := func(name string, run func(x, y, dst []float32), want func(x, y float64) float64) {
		t.Helper()
		dst := guard(y)
		run(guard(x).data, guard(y).data, dst.data)
		dst.check(t)
		for i := range x {
			near(t, name, i, dst.data[i], want(float64(x[i]), float64(y[i])), 3e-7*(1+math.Abs(float64(alpha))))
		}
	}
	a := float64(alpha)
	each("Axpy", func(x, _, dst []float32) { Axpy(alpha, x, dst) }, func(x, y float64) float64 { return a*x + y })
	each("Scale", func(_, _, dst []float32) { Scale(alpha, dst) }, func(_, y float64) float64 { return a * y })
	each("Scaled", func(x, _, dst []float32) { Scaled(dst, x, 0.5, alpha) }, func(x, _ float64) float64 { return a * (x - 0.5) })
	each("AddMul", func(x, y, dst []float32) { AddMul(dst, x, y) }, func(x, y float64) float64 { return y + x*y })
	each("Beyond", func(x, y, dst []float32) { Beyond(alpha, dst, x, y) }, func(x, y float64) float64 { return y + a*(y-x) })
	each("Add", func(x, y, dst []float32) { Add(dst, x, y) }, func(x, y float64) float64 { return x + y })
	each("Mul", func(x, y, dst []float32) { Mul(dst, x, y) }, func(x, y float64) float64 { return x * y })
	each("Add in place", func(x, _, dst []float32) { Add(dst, dst, x) }, func(x, y float64) float64 { return x + y })
	each("Mul in place", func(x, _, dst []float32) { Mul(dst, x, dst) }, func(x, y float64) float64 { return x * y })
	checkSums(t, x, y)
}

func checkSums(t *testing.T, x, y []float32) {
	t.Helper()
	var sum, dot float64
	for i := range x {
		sum += float64(x[i])
		dot += float64(x[i]) * float64(y[i])
	}
	bound := 1e-7 * (1 + float64(len(x)))
	near(t, "Sum", len(x), Sum(guard(x).data), sum, bound)
	near(t, "Dot", len(x), Dot(guard(x).data, guard(y).data), dot, bound)
}

// TestWide: what is added up by column has the bits of its definition, on every path.
func TestWide(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(19, 20))
		for n := range 40 {
			x, dst := guard(random(r, n)), guard(random(r, n))
			sums, squares, mean, factor := make([]float64, n+1), make([]float64, n+1), make([]float64, n), make([]float64, n)
			for i := range mean {
				sums[i], squares[i], mean[i], factor[i] = r.NormFloat64(), r.Float64(), r.NormFloat64(), r.NormFloat64()
			}
			wantSums, wantSquares := slices.Clone(sums), slices.Clone(squares)
			AddWide(sums[:n], x.data)
			AddSquares(squares[:n], mean, x.data)
			Normal(dst.data, x.data, mean, factor)
			for i, v := range x.data {
				d := float64(v) - mean[i]
				wantSums[i], wantSquares[i] = wantSums[i]+float64(v), wantSquares[i]+float64(d*d)
				if want := float32(d * factor[i]); dst.data[i] != want {
					t.Fatalf("Normal %d of %d is %v, want %v", i, n, dst.data[i], want)
				}
			}
			if !slices.Equal(sums, wantSums) || !slices.Equal(squares, wantSquares) {
				t.Fatalf("%d columns: sums %v and %v, want %v and %v", n, sums, squares, wantSums, wantSquares)
			}
			dst.check(t)
		}
	})
}

// TestSumsKeepNaN puts a NaN, and infinities that cancel, in every place.
func TestSumsKeepNaN(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	eachPath(t, func(t *testing.T) {
		for i := range 140 {
			x, ones := make([]float32, 140), make([]float32, 140)
			fill(ones, 1)
			x[i] = nan
			isNaN(t, "Sum", Sum(x))
			isNaN(t, "Dot", Dot(x, ones))
			x[i] = inf
			near(t, "Sum", i, Sum(x), math.Inf(1), 0)
			isNaN(t, "Dot of Inf and 0", Dot(x, make([]float32, len(x))))
			x[(i+37)%140] = -inf
			isNaN(t, "Sum of Inf and -Inf", Sum(x))
		}
	})
}

func isNaN(t *testing.T, what string, v float32) {
	t.Helper()
	if !math.IsNaN(float64(v)) {
		t.Fatalf("%s = %v, want NaN", what, v)
	}
}

func TestMax(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(13, 14))
		near(t, "max", 0, active.max(nil), math.Inf(-1), 0)
		for n := 1; n < 150; n++ {
			x := random(r, n)
			Add(x, x, constant(n, -5))
			want := maximum(x)
			near(t, "max", n, active.max(guard(x).data), float64(want), 0)
			near(t, "max without NaN", n, active.max(append(x, mark, x[0])), float64(want), 0)
		}
	})
}

func constant(n int, v float32) []float32 {
	x := make([]float32, n)
	fill(x, v)
	return x
}

func TestBias(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(15, 16))
		for cols := 1; cols < 70; cols++ {
			checkBias(t, random(r, cols*9), random(r, cols))
		}
		SumRows(nil, nil, true)
		AddBias(nil, []float32{1})
	})
}

func checkBias(t *testing.T, y, bias []float32) {
	t.Helper()
	cols := len(bias)
	got, added, written := guard(y), guard(bias), guard(constant(cols, float32(math.NaN())))
	AddBias(got.data, bias)
	SumRows(added.data, y, true)
	SumRows(written.data, y, false)
	sums := make([]float64, cols)
	for i, v := range y {
		sums[i%cols] += float64(v)
		near(t, "AddBias", i, got.data[i], float64(v)+float64(bias[i%cols]), 2e-7)
	}
	for j, s := range sums {
		near(t, "SumRows added", j, added.data[j], s+float64(bias[j]), 2e-6)
		near(t, "SumRows written", j, written.data[j], s, 2e-6)
	}
	got.check(t)
	added.check(t)
	written.check(t)
}
