package count

import (
	"sync/atomic"
	"time"
)

// Histogram counts values by size, for many goroutines at once. It neither allocates nor locks.
type Histogram struct {
	bounds []int64
	counts []atomic.Int64 // of values up to each bound, and of all that are larger
	sum    atomic.Int64
}

// NewHistogram returns an empty histogram with ascending bounds.
func NewHistogram(bounds ...int64) *Histogram {
	return &Histogram{bounds: bounds, counts: make([]atomic.Int64, len(bounds)+1)}
}

// NewTimes returns an empty histogram of durations, in nanoseconds.
func NewTimes(bounds ...time.Duration) *Histogram {
	h := NewHistogram(make([]int64, len(bounds))...)
	for i, b := range bounds {
		h.bounds[i] = int64(b)
	}
	return h
}

// Observe counts a value.
func (h *Histogram) Observe(v int64) {
	i := 0
	for i < len(h.bounds) && v > h.bounds[i] {
		i++
	}
	h.counts[i].Add(1)
	h.sum.Add(v)
}

// Since counts the time since began.
func (h *Histogram) Since(began time.Time) { h.Observe(int64(time.Since(began))) }

// Read returns the counts, with bounds and sum divided by unit: time.Second gives seconds.
func (h *Histogram) Read(unit int64) Distribution {
	d := Distribution{Sum: float64(h.sum.Load()) / float64(unit), Bounds: make([]float64, len(h.bounds)),
		Counts: make([]int64, len(h.counts))}
	for i, b := range h.bounds {
		d.Bounds[i] = float64(b) / float64(unit)
	}
	for i := range h.counts {
		d.Counts[i] = h.counts[i].Load()
	}
	return d
}

// Distribution is the counts of a histogram. A field with these fields, in a struct for users, is a sample too.
type Distribution struct {
	Bounds []float64 // ascending
	Counts []int64   // of values up to each bound, and of all that are larger
	Sum    float64   // of the values
}

// Count returns the number of values.
func (d *Distribution) Count() (n int64) {
	for _, c := range d.Counts {
		n += c
	}
	return n
}
