package exchange

import (
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/wire"
)

// Rows holds ids of an embedding, strictly increasing, and memory for their weights.
type Rows struct {
	IDs []uint64
	W   []float32
}

// Want sets r to a copy of ids and makes room for their rows, of width dim, reusing r's memory.
func (r *Rows) Want(ids []uint64, dim int) {
	r.IDs = append(r.IDs[:0], ids...)
	r.W = slices.Grow(r.W[:0], len(ids)*dim)[:len(ids)*dim]
}

// cutPush and cutPull divide ids among the servers' lanes.
func (x *Exchange) cutPush(push []gradient.Rows) {
	for e := range push {
		x.cut(e, push[e].IDs, func(l *lane) *cutRows { return &l.push[e] })
	}
}

func (x *Exchange) cutPull(pull []Rows) {
	for e := range pull {
		x.cut(e, pull[e].IDs, func(l *lane) *cutRows { return &l.pull[e] })
	}
}

func (x *Exchange) cut(e int, ids []uint64, of func(*lane) *cutRows) {
	for s := range x.lanes {
		x.shares[s] = of(&x.lanes[s]).share
	}
	x.embedding(e).Cut(ids, x.shares)
	for s := range x.lanes {
		of(&x.lanes[s]).share = x.shares[s]
	}
}

// embedding returns the embedding of entry e of a request. Entries to peek at follow the others.
func (x *Exchange) embedding(e int) *layout.Embedding {
	return &x.s.Layout.Embeddings[e%len(x.s.Layout.Embeddings)]
}

func (x *Exchange) table(e int) uint32 { return uint32(x.embedding(e).Index) }

func (x *Exchange) dim(e int) int { return x.embedding(e).Dim() }

// ask adds the ids of a pull to a server's frame.
func (x *Exchange) ask(s, e int, ids []uint64) {
	if b := &x.lanes[s].build; e < len(x.s.Layout.Embeddings) {
		b.IDs(x.table(e), ids)
	} else {
		b.Peek(x.table(e), ids)
	}
	x.tally(s, e, len(ids))
}

// gather returns a share's gradients: their own memory if they lie side by side, else a copy.
func (x *Exchange) gather(c *cutRows, e int, r gradient.Rows) []float32 {
	dim := x.dim(e)
	if c.share.Run() {
		return r.G[c.share.Lo*dim : c.share.Hi*dim]
	}
	c.rows = slices.Grow(c.rows[:0], len(c.share.At)*dim)
	for _, at := range c.share.At {
		c.rows = append(c.rows, r.G[int(at)*dim:][:dim]...)
	}
	return c.rows
}

// partOf returns the share's ids.
func (c *cutRows) partOf(ids []uint64) []uint64 {
	if c.share.Run() {
		return ids[c.share.Lo:c.share.Hi]
	}
	c.ids = c.ids[:0]
	for _, at := range c.share.At {
		c.ids = append(c.ids, ids[at])
	}
	return c.ids
}

// takeClicks returns the share's shows and clicks; nil if there are none.
func (c *cutRows) takeClicks(clicks []float32) []float32 {
	if clicks == nil {
		return nil
	}
	if c.share.Run() {
		return clicks[2*c.share.Lo : 2*c.share.Hi]
	}
	c.clicks = c.clicks[:0]
	for _, at := range c.share.At {
		c.clicks = append(c.clicks, clicks[2*at:][:2]...)
	}
	return c.clicks
}

// putRows adds gradients of rows to a server's frame.
func (x *Exchange) putRows(s, e int, ids []uint64, g []float32) {
	b := &x.lanes[s].build
	if x.s.Payload == wire.Float32 {
		b.Rows(x.table(e), ids, g)
	} else {
		b.RowsAs(x.s.Payload, x.table(e), ids, g)
	}
	x.tally(s, e, len(ids))
}

// ungather copies the rounding errors that a narrow frame has left in gathered gradients back to the push's gradients.
func (x *Exchange) ungather(c *cutRows, e int, g []float32, r gradient.Rows) {
	if c.share.Run() || x.s.Payload == wire.Float32 {
		return // g is r's own memory, or was not changed
	}
	dim := x.dim(e)
	for i, at := range c.share.At {
		copy(r.G[int(at)*dim:][:dim], g[i*dim:])
	}
}

// putClicks adds to a server's frame the shows and clicks of the rows just added, if there are any.
func (x *Exchange) putClicks(s, e int, clicks []float32) {
	if clicks != nil {
		x.lanes[s].build.Clicks(x.table(e), clicks)
	}
}

// readRows copies the rows [lo, hi) of a share to their places in dst, the batch's rows.
func (x *Exchange) readRows(share *layout.Share, lo, hi, e int, sec wire.Section, dst []float32) error {
	w, err := sec.Rows()
	if err != nil {
		return err
	}
	dim := x.dim(e)
	if len(w) != (hi-lo)*dim {
		return fmt.Errorf("%d values came for %d rows of %q", len(w), hi-lo, x.s.Layout.Params[x.table(e)].Name)
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
