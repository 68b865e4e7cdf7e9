package client

import (
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/wire"
)

// rows are ids of an embedding, strictly increasing, and room for their rows.
type rows struct {
	ids  []uint64
	data []float32
	// counts are the shows and clicks of a push, two for each id; nil when nothing is said of them.
	counts []float32
}

// set makes r a copy of o, in its own memory.
func (r *rows) set(o rows) {
	r.ids, r.data = append(r.ids[:0], o.ids...), append(r.data[:0], o.data...)
	if o.counts == nil {
		r.counts = nil
		return
	}
	r.counts = append(r.counts[:0], o.counts...)
}

// want makes r a copy of ids and room for their rows, in its own memory.
func (r *rows) want(ids []uint64, dim int) {
	r.ids = append(r.ids[:0], ids...)
	r.data = slices.Grow(r.data[:0], len(ids)*dim)[:len(ids)*dim]
}

// cutRows is one server's share of an embedding's ids, gathered where they are scattered in the batch.
type cutRows struct {
	share  layout.Share
	ids    []uint64
	rows   []float32
	counts []float32
}

// cut divides ids among the lanes.
func (x *exchange) cut(batch []rows, of func(*lane) []cutRows) {
	shares := make([]layout.Share, len(x.lanes))
	for e := range batch {
		for s := range x.lanes {
			shares[s] = of(&x.lanes[s])[e].share
		}
		x.c.c.Layout.Embeddings[e].Cut(batch[e].ids, shares)
		for s := range x.lanes {
			of(&x.lanes[s])[e].share = shares[s]
		}
	}
}

func (x *exchange) table(e int) uint32 { return uint32(x.c.c.Layout.Embeddings[e].Index) }

func (x *exchange) dim(e int) int { return x.c.c.Layout.Embeddings[e].Dim() }

// gather is a share's gradients: as they lie when they lie side by side, copied together otherwise.
func (x *exchange) gather(c *cutRows, e int, r rows) []float32 {
	dim := x.dim(e)
	if c.share.Run() {
		return r.data[c.share.Lo*dim : c.share.Hi*dim]
	}
	c.rows = slices.Grow(c.rows[:0], len(c.share.At)*dim)
	for _, at := range c.share.At {
		c.rows = append(c.rows, r.data[int(at)*dim:][:dim]...)
	}
	return c.rows
}

// take is the share's part of ids.
func (c *cutRows) take(ids []uint64) []uint64 {
	if c.share.Run() {
		return ids[c.share.Lo:c.share.Hi]
	}
	c.ids = c.ids[:0]
	for _, at := range c.share.At {
		c.ids = append(c.ids, ids[at])
	}
	return c.ids
}

// takeCounts is the share's part of counts; nil of nil.
func (c *cutRows) takeCounts(counts []float32) []float32 {
	if counts == nil {
		return nil
	}
	if c.share.Run() {
		return counts[2*c.share.Lo : 2*c.share.Hi]
	}
	c.counts = c.counts[:0]
	for _, at := range c.share.At {
		c.counts = append(c.counts, counts[2*at:][:2]...)
	}
	return c.counts
}

// putCounts adds the shows and clicks of the rows before them to a server's frame, if there are any.
func (x *exchange) putCounts(s, e int, counts []float32) {
	if counts != nil {
		x.lanes[s].build.Counts(x.table(e), counts)
	}
}

// readRows puts the rows [lo, hi) of a share where they belong among the batch's.
func (x *exchange) readRows(share *layout.Share, lo, hi, e int, sec wire.Section, dst []float32) error {
	w, err := sec.Rows()
	if err != nil {
		return err
	}
	dim := x.dim(e)
	if len(w) != (hi-lo)*dim {
		return fmt.Errorf("%d values came for %d rows of %q", len(w), hi-lo, x.c.c.Layout.Params[x.table(e)].Name)
	}
	if share.Run() {
		copy(dst[(share.Lo+lo)*dim:], w)
		return nil
	}
	for i, at := range share.At[lo:hi] {
		copy(dst[int(at)*dim:][:dim], w[i*dim:])
	}
	return nil
}
