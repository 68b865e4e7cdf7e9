package nn

import (
	"log/slog"
)

// crowding is whether a histogram's buckets tell scores apart, batch after batch.
type crowding struct {
	// so far, and rows that shared a bucket with half of their batch; rows is -1 when there is nothing to see any more
	rows, together int
}

// crowdedAfter is how many rows are looked at.
const crowdedAfter = 2000

// see counts a batch, and says once that half of the scores share a bucket.
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

// alike says whether all scores of a batch are one number, which no bucket would tell apart.
func alike(pred *cell) bool {
	first := pred.probability(0)
	for i := range pred.rows() {
		if pred.probability(i) != first {
			return false
		}
	}
	return true
}
