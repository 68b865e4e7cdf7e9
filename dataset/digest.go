package dataset

import (
	"fmt"
	"hash/fnv"
)

// Digest returns a checksum of the number of rows and of at most n of them, spread evenly over the pass: it is equal on
// workers that have the same rows in the same order. It is "" for streamed rows, and for rows that differ from pass to
// pass.
func (d *Dataset) Digest(n int) string {
	v, memory := d.source.(*view)
	if !memory || d.err != nil {
		return ""
	}
	order := v.order(d.epoch)
	n = min(n, len(order))
	some := make([]int, n)
	for i := range some {
		some[i] = order[i*len(order)/n]
	}
	sum, again := v.sum(some), v.sum(some)
	if sum != again {
		return ""
	}
	return sum
}

// sum returns a checksum of rows of the source, or "" if they can't be read.
func (v *view) sum(rows []int) string {
	t, sum := newTable(v.Columns()), fnv.New64a()
	if err := v.Gather(t, rows); err != nil {
		return ""
	}
	fmt.Fprint(sum, v.len, t.Columns())
	t.writeTo(sum)
	return fmt.Sprintf("%016x", sum.Sum64())
}
