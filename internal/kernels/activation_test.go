package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// unary is an elementwise function, its twin in float64 and the error it may make, in units in the last place.
type unary struct {
	name string
	f    func(dst, x []float32)
	twin func(x float64) float64
	ulps float64
}

var unaries = []unary{
	{"ReLU", ReLU, func(x float64) float64 { return max(x, 0) }, 0},
	{"Exp", Exp, math.Exp, 1},
	{"Log", Log, math.Log, 1},
	{"Sigmoid", Sigmoid, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, 2},
	{"Tanh", Tanh, math.Tanh, 2},
}

// extremes are inputs at which elementwise functions go wrong.
func extremes() []float32 {
	inf := float32(math.Inf(1))
	positive := []float32{0, math.SmallestNonzeroFloat32, 1e-40, 0x1p-126, 1e-20, 1e-5, 0.3, 0.5, 0.625, 1, 1.5, 9, 16.7, 17, 43,
		87, 87.33, 87.4, 88.37, 88.72, 88.73, 89, 90, 96, 103.2, 103.9, 104, 105, 150, 1e5, 1e9, 3e9, 1e20, math.MaxFloat32, inf}
	all := []float32{float32(math.NaN()), -float32(math.NaN())}
	for _, v := range positive {
		all = append(all, v, -v)
	}
	return all
}

// ulpError is the distance between got and want in units of the last place of a float32 of that size.
func ulpError(got float32, want float64) float64 {
	if float64(got) == want || math.IsNaN(float64(got)) && math.IsNaN(want) {
		return 0
	}
	near := float32(want)
	if math.IsInf(float64(near), 0) || math.IsInf(float64(got), 0) {
		if got == near {
			return 0
		}
		return math.Inf(1)
	}
	_, e := math.Frexp(want)
	unit := math.Ldexp(1, max(e-24, -149))
	return math.Abs(float64(got)-want) / unit
}

func (u unary) check(t *testing.T, x []float32) (worst float64) {
	t.Helper()
	dst := guard(x)
	u.f(dst.data, guard(x).data)
	dst.check(t)
	for i, v := range x {
		e := ulpError(dst.data[i], u.twin(float64(v)))
		if bound := u.ulps + 0.5; !(e <= bound) {
			t.Fatalf("%s(%v) of %d elements = %v, want %v: off by %v ulp, more than %v", u.name, v, len(x), dst.data[i],
				u.twin(float64(v)), e, bound)
		}
		worst = max(worst, e)
	}
	return worst
}

func eachUnary(t *testing.T, test func(t *testing.T, u unary)) {
	eachPath(t, func(t *testing.T) {
		for _, u := range unaries {
			t.Run(u.name, func(t *testing.T) { test(t, u) })
		}
	})
}

func TestUnaryExtremes(t *testing.T) {
	eachUnary(t, func(t *testing.T, u unary) {
		all := extremes()
		u.check(t, all)
		for i := range all { // each alone, and in every place of a longer slice
			u.check(t, all[i:i+1])
			u.check(t, append(all[i:len(all):len(all)], all[:i]...))
		}
	})
}

// TestUnaryExact: values that are reached exactly, the sign of zero included.
func TestUnaryExact(t *testing.T) {
	inf, minus0 := float32(math.Inf(1)), float32(math.Copysign(0, -1))
	eachPath(t, func(t *testing.T) {
		for _, c := range []struct {
			name string
			f    func(dst, x []float32)
			x, y float32
		}{
			{"ReLU", ReLU, -inf, 0}, {"ReLU", ReLU, inf, inf},
			{"Exp", Exp, 0, 1}, {"Exp", Exp, minus0, 1}, {"Exp", Exp, -104, 0}, {"Exp", Exp, -150, 0}, {"Exp", Exp, -inf, 0},
			{"Exp", Exp, 88.73, inf}, {"Exp", Exp, 1e30, inf}, {"Exp", Exp, inf, inf},
			{"Log", Log, 1, 0}, {"Log", Log, 0, -inf}, {"Log", Log, inf, inf},
			{"Sigmoid", Sigmoid, 0, 0.5}, {"Sigmoid", Sigmoid, 40, 1}, {"Sigmoid", Sigmoid, inf, 1}, {"Sigmoid", Sigmoid, -inf, 0},
			{"Tanh", Tanh, 0, 0}, {"Tanh", Tanh, minus0, minus0},
			{"Tanh", Tanh, 30, 1}, {"Tanh", Tanh, -inf, -1},
		} {
			y := []float32{7}
			c.f(y, []float32{c.x})
			sameBits(t, fmt.Sprintf("%s(%v)", c.name, c.x), y, []float32{c.y})
		}
	})
}

func TestUnaryLengths(t *testing.T) {
	eachUnary(t, func(t *testing.T, u unary) {
		r := rand.New(rand.NewPCG(5, 6))
		for n := range 150 {
			x := random(r, n)
			u.check(t, x)
			inPlace := guard(x)
			want := make([]float32, n)
			u.f(want, x)
			u.f(inPlace.data, inPlace.data)
			inPlace.check(t)
			sameBits(t, u.name+" in place", inPlace.data, want)
		}
	})
}

// TestUnaryAccuracy walks through all exponents of a float32, with both signs.
func TestUnaryAccuracy(t *testing.T) {
	law.Slow(t)
	eachUnary(t, func(t *testing.T, u unary) {
		x := make([]float32, 0, 1<<20)
		for b := uint64(0); b < 1<<32; b += 1 << 32 / uint64(tries(1<<19)+1) {
			x = append(x, math.Float32frombits(uint32(b)))
		}
		for v := float32(-20); v < 20; v += 0.000713 {
			x = append(x, v)
		}
		t.Logf("worst error %.3f ulp", u.check(t, x))
	})
}

// TestUnaryPosition: an element's result depends on its value alone, not on its place or the slice's length.
func TestUnaryPosition(t *testing.T) {
	eachUnary(t, func(t *testing.T, u unary) {
		r := rand.New(rand.NewPCG(7, 8))
		x := random(r, 67)
		whole, alone := make([]float32, len(x)), make([]float32, len(x))
		u.f(whole, x)
		for i := range x {
			u.f(alone[i:i+1], x[i:i+1])
		}
		sameBits(t, u.name, alone, whole)
	})
}

// grad is the gradient of an elementwise function and its twin.
type grad struct {
	name string
	f    func(dx, y, dy []float32, accumulate bool)
	twin func(y, dy float64) float64
}

var grads = []grad{
	{"ReLUGrad", ReLUGrad, func(y, dy float64) float64 {
		if y <= 0 {
			return 0
		}
		return dy
	}},
	{"SigmoidGrad", SigmoidGrad, func(y, dy float64) float64 { return dy * y * (1 - y) }},
	{"TanhGrad", TanhGrad, func(y, dy float64) float64 { return dy * (1 - y*y) }},
}

func (g grad) check(t *testing.T, dx, y, dy []float32, accumulate bool) {
	t.Helper()
	got := guard(dx)
	g.f(got.data, guard(y).data, guard(dy).data, accumulate)
	got.check(t)
	for i := range dx {
		want := g.twin(float64(y[i]), float64(dy[i]))
		if accumulate {
			want += float64(dx[i])
		}
		near(t, g.name, i, got.data[i], want, 4e-7*(1+math.Abs(float64(y[i]*y[i]))))
	}
}

func TestGrads(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(9, 10))
		for _, g := range grads {
			for n := range 100 {
				dx, y, dy := random(r, n), random(r, n), random(r, n)
				g.check(t, dx, y, dy, true)
				fill(dx, float32(math.NaN()))
				g.check(t, dx, y, dy, false)
			}
		}
	})
}

func TestGradsKeepNaN(t *testing.T) {
	nan := float32(math.NaN())
	eachPath(t, func(t *testing.T) {
		for _, g := range grads {
			for n := 1; n < 70; n++ {
				y, dy := make([]float32, n), make([]float32, n)
				fill(y, 0.5)
				fill(dy, 0.25)
				y[n-1], dy[n/2] = nan, nan
				g.check(t, make([]float32, n), y, dy, false)
				g.check(t, make([]float32, n), y, dy, true)
			}
		}
	})
}
