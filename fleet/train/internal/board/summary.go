package board

import (
	"math"

	"github.com/gofleet/gofleet/internal/protowire"
)

// Summary has the values of a step.
type Summary struct{ values protowire.Message }

// value adds a value under a tag.
func (s *Summary) value(tag string, add func(v *protowire.Message)) {
	var v protowire.Message
	v.String(1, tag)
	add(&v)
	s.values.Message(1, v)
}

// Scalar adds a number, unless it is not finite.
func (s *Summary) Scalar(tag string, x float64) {
	if finite(x) {
		s.value(tag, func(v *protowire.Message) { v.Float(2, float32(x)) })
	}
}

// Histogram adds a histogram.
func (s *Summary) Histogram(tag string, h Histogram) {
	if h.count > 0 {
		s.value(tag, func(v *protowire.Message) { v.Message(5, h.message()) })
	}
}

// Write writes a summary for a step, unless it is empty.
func (w *Writer) Write(step int64, s Summary) error {
	if len(s.values) == 0 {
		return nil
	}
	w.last = max(w.last, step) // steps must not decrease
	return w.event(w.last, func(m *protowire.Message) { m.Message(eventSummary, s.values) })
}

// buckets is the number of buckets between the least and the largest number; TensorBoard draws as many.
const buckets = 30

// Histogram counts finite numbers by bucket.
type Histogram struct {
	least, most, sum, squares float64
	count                     int
	counts                    [buckets]float64
}

// HistogramOf is the histogram of x.
func HistogramOf(x []float32) Histogram {
	h := Histogram{least: math.Inf(1), most: math.Inf(-1)}
	for _, v := range x {
		if v := float64(v); finite(v) {
			h.least, h.most, h.sum, h.squares = min(h.least, v), max(h.most, v), h.sum+v, h.squares+v*v
			h.count++
		}
	}
	width := (h.most - h.least) / buckets
	for _, v := range x {
		if v := float64(v); finite(v) {
			i := 0
			if width > 0 {
				i = min(int((v-h.least)/width), buckets-1)
			}
			h.counts[i]++
		}
	}
	return h
}

// message is a HistogramProto: buckets by their right edges.
func (h Histogram) message() protowire.Message {
	edges := make([]float64, buckets)
	for i := range edges {
		edges[i] = h.least + (h.most-h.least)*float64(i+1)/buckets
	}
	counts := h.counts[:]
	if h.least == h.most { // edges have to rise
		edges, counts = []float64{h.least, math.Nextafter(h.least, math.Inf(1))}, []float64{h.counts[0], 0}
	}
	var m protowire.Message
	for i, v := range []float64{h.least, h.most, float64(h.count), h.sum, h.squares} {
		m.Double(i+1, v)
	}
	m.Doubles(6, edges)
	m.Doubles(7, counts)
	return m
}
