package stats

import (
	"math"
	"testing"
)

// TestQuantiles: a part of the values is looked up between the bounds where it lies; of no values it is 0.
func TestQuantiles(t *testing.T) {
	bounds := []float64{1, 2, 4}
	for _, c := range []struct {
		counts  []int64
		q, want float64
	}{
		{[]int64{0, 0, 0, 0}, 0.5, 0}, {[]int64{4, 0, 0, 0}, 0.5, 0.5}, {[]int64{2, 0, 2, 0}, 0.5, 1}, {[]int64{2, 0, 2, 0}, 0.75, 3},
		{[]int64{0, 0, 2, 0}, 0, 2}, {[]int64{1, 1, 1, 1}, 1, 4}, {[]int64{0, 0, 0, 3}, 0.1, 4},
	} {
		if got := (Histogram{Bounds: bounds, Counts: c.counts}).Quantile(c.q); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v of %v: %v, want %v", c.q, c.counts, got, c.want)
		}
	}
	if got := (Histogram{}).Quantile(0.5); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
}
