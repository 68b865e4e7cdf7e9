package nn

import (
	"math"
	"testing"
)

// grid are numbers from −limit to limit, zero, and the smallest and the largest.
func grid(limit float32) []float32 {
	x := []float32{0, math.SmallestNonzeroFloat32, -1e-20, 1e-4, math.MaxFloat32, -math.MaxFloat32}
	for i := range 20001 {
		x = append(x, limit*(float32(i)-10000)/10000)
	}
	return x
}

// TestNormalCDF and TestSoftplusOf hold functions that are computed by a few multiplications to float64's, relatively, in their
// tails too.
func TestNormalCDF(t *testing.T) {
	x := grid(12)
	got := make([]float32, len(x))
	normalCDF(got, x)
	for i, v := range x {
		want := math.Erfc(-float64(v)/math.Sqrt2) / 2
		if d := math.Abs(float64(got[i]) - want); d > 1e-5*want+1e-38 {
			t.Fatalf("Φ(%v) = %v, want %v", v, got[i], want)
		}
	}
	special(t, "Φ", normalCDF, 0, 1)
}

func TestSoftplusOf(t *testing.T) {
	x := grid(85)
	got := make([]float32, len(x))
	softplusOf(got, x)
	for i, v := range x {
		want := max(float64(v), 0) + math.Log1p(math.Exp(-math.Abs(float64(v))))
		if d := math.Abs(float64(got[i]) - want); d > 1e-6*want {
			t.Fatalf("softplus(%v) = %v, want %v", v, got[i], want)
		}
	}
	special(t, "softplus", softplusOf, 0, math.Inf(1))
}

// special wants f of the infinities, and NaN of NaN.
func special(t *testing.T, name string, f func(dst, x []float32), low, high float64) {
	t.Helper()
	inf := float32(math.Inf(1))
	got := make([]float32, 3)
	f(got, []float32{-inf, inf, float32(math.NaN())})
	if got[0] != float32(low) || got[1] != float32(high) || got[2] == got[2] {
		t.Errorf("%s of −∞, ∞ and NaN is %v, want %v, %v and NaN", name, got, low, high)
	}
}
