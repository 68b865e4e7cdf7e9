package stats

// Histogram counts values by size.
type Histogram struct {
	// Bounds ascend. Counts has the number of values up to each bound and, last, of all larger values.
	Bounds []float64
	Counts []int64
	// Sum is the sum of all values.
	Sum float64
}

// Count returns the number of values.
func (h Histogram) Count() (n int64) {
	for _, c := range h.Counts {
		n += c
	}
	return n
}

// Mean returns the mean of the values, 0 if there are none.
func (h Histogram) Mean() float64 { return h.Sum / float64(max(1, h.Count())) }

// Quantile returns approximately the value that a fraction q of all values, between 0 and 1, does not exceed. Values
// are assumed to be spread evenly between two bounds, and the largest to be at the last bound. It is 0 if there are no
// values.
func (h Histogram) Quantile(q float64) float64 {
	n := h.Count()
	if n == 0 {
		return 0
	}
	left, low := q*float64(n), 0.
	for i, bound := range h.Bounds {
		if n := float64(h.Counts[i]); n > 0 && n >= left {
			return low + (bound-low)*left/n
		}
		left, low = left-float64(h.Counts[i]), bound
	}
	return low
}
