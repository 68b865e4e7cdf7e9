package train

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/nn"
)

// TestCurve: points are means over their steps' examples; what is not finite is left out; each two become one when there are too many.
func TestCurve(t *testing.T) {
	t.Parallel()
	var c curve
	c.step(nn.TrainResult{Weight: 10, Loss: 3}, 10)
	c.step(nn.TrainResult{Weight: 40, Loss: 1.5}, 40)
	c.restart()
	c.step(nn.TrainResult{Weight: 10, Loss: math.NaN()}, 50)
	c.restart()
	c.step(nn.TrainResult{Weight: 10, Loss: 1e200}, 60) // no float32
	c.restart()
	c.step(nn.TrainResult{Weight: 20, Loss: 2}, 80)
	if want := []point{{10, 3}, {40, 1}, {80, 2}}; !slices.Equal(c.Points, want) {
		t.Errorf("points %v, want %v", c.Points, want)
	}
	c = curve{}
	for i, weight := range []float64{100, 100, 3, 100} { // the third is an epoch's last batch
		c.restart()
		c.step(nn.TrainResult{Weight: weight, Loss: 1 + 10*float64(i%3/2)}, 100*(i+1))
	}
	if want := []point{{100, 1}, {200, 1}, {400, float32(133.0 / 103)}}; !slices.Equal(c.Points, want) {
		t.Errorf("points %v, want %v", c.Points, want)
	}
	c = curve{}
	for i := 1; i <= 2*curvePoints; i++ { // losses 1 and 3 by turns
		c.restart()
		c.step(nn.TrainResult{Weight: 1, Loss: float64(1 + i%2*2)}, i)
	}
	if n := len(c.Points); n != curvePoints/2+curvePoints/4 && n != curvePoints/2 || c.Every != 4 ||
		c.Points[n-1] != (point{2 * curvePoints, 2}) ||
		c.Points[0] != (point{4, 2}) {
		t.Errorf("%d points of %d steps, from %v to %v", n, c.Every, c.Points[0], c.Points[n-1])
	}
}

// TestCurveOfHistory: what an older checkpoint has not got of a curve is drawn by its evaluations, of which a long job draws some, and the last.
func TestCurveOfHistory(t *testing.T) {
	t.Parallel()
	var history []Evaluation
	for i := 1; i <= 1000; i++ {
		history = append(history, Evaluation{Examples: 10 * i, Values: map[string]float64{TrainLoss: float64(i)}})
	}
	got := (&curve{Points: []point{{35, 7}}}).drawn(history[:5])
	if want := []point{{10, 1}, {20, 2}, {30, 3}, {35, 7}}; !slices.Equal(got, want) {
		t.Errorf("drawn are %v, want %v", got, want)
	}
	if all := pointsOf(history, TrainLoss); len(all) > curvePoints || len(all) < curvePoints/2 ||
		all[len(all)-1] != (point{10_000, 1000}) {
		t.Errorf("%d of 1000 evaluations are drawn", len(all))
	}
}

// TestTicks are round numbers within the axis, written with the digits that tell them apart.
func TestTicks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		points []point
		want   string
	}{
		{[]point{{1, 0.61}, {9, 0.22}}, "[0.3 0.4 0.5 0.6] [0 2 4 6 8]"},
		{[]point{{1_000_000, 0.8123}, {2_500_000, 0.8119}}, "[0.8119 0.8120 0.8121 0.8122 0.8123] [0 500k 1M 1.5M 2M " +
			"2.5M]"},
		{[]point{{7, -3}}, "[-3.2 -3.1 -3.0 -2.9 -2.8 -2.7] [0 2 4 6]"},
		{[]point{{7, 0}}, "[-1e-06 -5e-07 0 5e-07 1e-06] [0 2 4 6]"},
		{[]point{{20_000, 2e9}, {20_000, 9e9}}, "[2e+09 4e+09 6e+09 8e+09] [0 5k 10k 15k 20k]"},
		{nil, "[0.0 0.2 0.4 0.6 0.8 1.0] [0.0 0.2 0.4 0.6 0.8 1.0]"},
	} {
		x, y := panel{lines: []series{{"test", c.points}}}.axes()
		if got := fmt.Sprint(texts(y), texts(x)); got != c.want {
			t.Errorf("%v: %s, want %s", c.points, got, c.want)
		}
	}
}

func texts(a axis) (all []string) {
	for _, v := range a.ticks() {
		all = append(all, a.text(v))
	}
	return all
}
