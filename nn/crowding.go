package nn

import (
	"log/slog"
)

// crowding counts, batch after batch, scores that share a bucket of a histogram.
type crowding struct {
	// rows counted so far, and those that shared a bucket with half of their batch; rows is -1 when counting is over
	rows, together int
}

// crowdedAfter is the number of rows after which counting ends.
const crowdedAfter = 2000

// see counts a batch, and logs once if half of the scores share a bucket.
func (r *crowding) see(c *cell, h *Histogram) {
	if r.rows < 0 {
		return
	}
	rows, most := c.in[0].rows(), int64(0)
	for i, n := range h.Pos {
		most = max(most, n+h.Neg[i])
	}
	if r.rows += rows; 2*int(most) >= rows && !alike(c.in[0]) {
		r.together += rows
	}
	if r.rows < crowdedAfter {
		return
	}
	if 2*r.together >= r.rows {
		slog.Warn("nn: half of the scores lie in one bucket, which tells none of them apart: AUC has buckets for "+
			"small probabilities",
			"metric", c.node.label(), "buckets", len(h.Pos))
	}
	r.rows = -1
}

// alike reports whether all scores of a batch are equal, so that no bucket can separate them.
func alike(pred *cell) bool {
	first := pred.probability(0)
	for i := range pred.rows() {
		if pred.probability(i) != first {
			return false
		}
	}
	return true
}
