package kernels

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestFirstNotFinite puts what is not finite in every place, beside values whose squares are not finite either.
func TestFirstNotFinite(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		x := random(rand.New(rand.NewPCG(1, 2)), 2*4096+77)
		x[5], x[4100] = math.MaxFloat32, -math.MaxFloat32
		if got := FirstNotFinite(x); got != -1 {
			t.Errorf("all are finite, got %d", got)
		}
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			for _, at := range []int{0, 1, 63, 4095, 4096, 8191, len(x) - 1} {
				y := slices.Clone(x)
				y[at], y[len(y)-1] = float32(bad), float32(bad)
				if got := FirstNotFinite(y); got != at {
					t.Errorf("%v at %d: got %d", bad, at, got)
				}
			}
		}
		if got := FirstNotFinite(nil); got != -1 {
			t.Errorf("nothing at all: got %d", got)
		}
	})
}

func TestMakeFinite(t *testing.T) {
	nan, inf, most := float32(math.NaN()), float32(math.Inf(1)), float32(math.MaxFloat32)
	for _, c := range []struct{ x, want []float32 }{
		{nil, nil},
		{[]float32{1, -2}, []float32{1, -2}},
		{[]float32{1, nan, -3, inf, -inf}, []float32{1, 0, -3, 3, -3}},
		{[]float32{nan, inf, -inf}, []float32{0, 0, 0}},
		{[]float32{-most, inf, 5}, []float32{-most, most, 5}},
	} {
		got := slices.Clone(c.x)
		if MakeFinite(got, math.MaxFloat32); !slices.Equal(got, c.want) {
			t.Errorf("%v became %v, want %v", c.x, got, c.want)
		}
	}
}
