package stats

// Histogram is how many of some values were how large.
type Histogram struct {
	// Bounds ascend, Counts are of values up to each bound and, behind these, of all that are larger.
	Bounds []float64
	Counts []int64
	// Sum is that of all values.
	Sum float64
}

// Count is the number of values.
func (h Histogram) Count() (n int64) {
	for _, c := range h.Counts {
		n += c
	}
	return n
}

// Mean is that of the values, 0 where there are none.
func (h Histogram) Mean() float64 { return h.Sum / float64(max(1, h.Count())) }

// Quantile is about the value that a part q of all values, between 0 and 1, does not exceed: they are taken to lie
// evenly between two bounds, and the largest at the last bound. It is 0 where there are no values.
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
