package kernels

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// softmaxTwin is the softmax of a row and its gradient in float64.
func softmaxTwin(x, dy []float32) (y, dx []float64) {
	y, dx = make([]float64, len(x)), make([]float64, len(x))
	largest, sum, dot := math.Inf(-1), 0.0, 0.0
	for _, v := range x {
		largest = max(largest, float64(v))
	}
	for i, v := range x {
		y[i] = math.Exp(float64(v) - largest)
		sum += y[i]
	}
	for i := range y {
		y[i] /= sum
		dot += y[i] * float64(dy[i])
	}
	for i := range y {
		dx[i] = y[i] * (float64(dy[i]) - dot)
	}
	return y, dx
}

func TestSoftmaxRows(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(17, 18))
		for cols := 1; cols < 80; cols++ {
			x, dy, dx := random(r, 5*cols), random(r, 5*cols), random(r, 5*cols)
			Scale(30, x)
			checkSoftmax(t, x, dy, dx, cols)
		}
		SoftmaxRows(nil, nil, 3)
	})
}

func checkSoftmax(t *testing.T, x, dy, dx []float32, cols int) {
	t.Helper()
	y, added, written := guard(x), guard(dx), guard(dx)
	top, sum := Exponentials(slices.Clone(x[:cols]), x[:cols])
	total := 0.0
	for _, v := range x[:cols] {
		total += math.Exp(float64(v) - float64(top))
	}
	near(t, "Exponentials: the largest", 0, top, float64(slices.Max(x[:cols])), 0)
	near(t, "Exponentials: the sum", 0, sum, total, 4e-6*total)
	SoftmaxRows(y.data, y.data, cols)
	SoftmaxRowsGrad(added.data, y.data, dy, cols, true)
	SoftmaxRowsGrad(written.data, y.data, dy, cols, false)
	for i := 0; i < len(x); i += cols {
		wantY, wantDx := softmaxTwin(x[i:i+cols], dy[i:i+cols])
		for j := range wantY {
			near(t, "SoftmaxRows", i+j, y.data[i+j], wantY[j], 4e-6*wantY[j]+1e-44) // x − m is rounded
			near(t, "SoftmaxRowsGrad written", i+j, written.data[i+j], wantDx[j], 2e-6)
			near(t, "SoftmaxRowsGrad added", i+j, added.data[i+j], wantDx[j]+float64(dx[i+j]), 2e-6)
		}
	}
	y.check(t)
	added.check(t)
	written.check(t)
}

// TestSoftmaxSpoiledRow: what has no softmax gives NaN in its row and leaves the other rows alone.
func TestSoftmaxSpoiledRow(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1))} {
			for i := range 20 {
				x := constant(60, 1)
				x[20+i] = bad
				SoftmaxRows(x, x, 20)
				for j, v := range x {
					want := 1.0 / 20
					if j/20 == 1 {
						want = math.NaN()
					}
					near(t, "SoftmaxRows", j, v, want, 1e-7)
				}
			}
		}
	})
}
