package client

import (
	"context"

	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// payloads are the strategy's payloads as the wire knows them.
var payloads = map[strategy.Payload]wire.Encoding{
	strategy.PayloadFloat32:  wire.Float32,
	strategy.PayloadFloat16:  wire.Float16,
	strategy.PayloadBFloat16: wire.BFloat16,
	strategy.PayloadInt8:     wire.Int8,
}

// feedback is the error feedback of pushes in narrow payloads: what rounding takes from a gradient is owed to its variable
// or row, and added to the next gradient of the same before that is rounded. So over many steps the servers get the sum of
// the gradients up to what is owed, which is half of a last place.
//
// A frame is narrowed once and repeated as it is, so that a retry neither loses nor doubles what is owed. What is owed when
// a session ends is dropped: it is less than any push could have said. Every session, and in async mode every sender, has a
// feedback of its own: a copy of the dense gradients, and [owed] for the rows of each embedding.
type feedback struct {
	dense [][]float32 // by param: owed, and during a push the gradient too
	rows  []rows      // by embedding: the push under way
	owed  []owed      // by embedding
}

func newFeedback(c *Client) *feedback {
	l := c.c.Layout
	k := &feedback{dense: make([][]float32, len(l.Params)), rows: make([]rows, len(l.Embeddings)), owed: make([]owed, len(l.Embeddings))}
	for i, p := range l.Params {
		if !p.Embedding && !p.Frozen {
			k.dense[i] = make([]float32, p.Size())
		}
	}
	for e := range l.Embeddings {
		k.owed[e] = newOwed(l.Embeddings[e].Dim())
	}
	return k
}

// narrowly is exchange for a push in a narrow payload. A push that failed leaves nothing owed: what of it arrived is not
// known.
func (x *exchange) narrowly(ctx context.Context, r request) error {
	if x.feedback == nil {
		x.feedback = newFeedback(x.c)
	}
	k := x.feedback
	k.add(&r)
	if err := x.exchange(ctx, r); err != nil {
		x.feedback = nil
		return err
	}
	for e := range r.push {
		k.owed[e].keep(r.push[e].data)
	}
	return nil
}

// add makes the gradients of a push the sums with what is owed, in k's memory, where what their rounding takes will be left.
// Where a sum is beyond float32, what was owed is dropped.
func (k *feedback) add(r *request) {
	for i, owed := range k.dense {
		if owed == nil {
			continue
		}
		kernels.Add(owed, owed, r.dense[i])
		if kernels.FirstNotFinite(owed) >= 0 {
			copy(owed, r.dense[i])
		}
	}
	for e := range r.push {
		k.rows[e].set(r.push[e])
		k.owed[e].add(r.push[e].ids, k.rows[e].data)
		if kernels.FirstNotFinite(k.rows[e].data) >= 0 {
			copy(k.rows[e].data, r.push[e].data)
		}
	}
	r.dense, r.push = k.dense, k.rows
}

// putDense adds the dense gradients [from, to) of a server to its frame.
func (x *exchange) putDense(s int, dense [][]float32, from, to int) {
	b, pieces := &x.lanes[s].build, x.span(s, dense, from, to)
	if x.c.payload == wire.Float32 {
		b.Dense(pieces...)
	} else {
		b.DenseAs(x.c.payload, pieces...)
	}
}

// putRows adds gradients of rows to a server's frame.
func (x *exchange) putRows(s, e int, ids []uint64, g []float32) {
	b := &x.lanes[s].build
	if x.c.payload == wire.Float32 {
		b.Rows(x.table(e), ids, g)
	} else {
		b.RowsAs(x.c.payload, x.table(e), ids, g)
	}
}

// ungather puts what a narrow frame left of a share's gradients, which were copied together, back among the push's.
func (x *exchange) ungather(c *cutRows, e int, g []float32, r rows) {
	if c.share.Run() || x.c.payload == wire.Float32 {
		return // g is r's own memory, or unchanged
	}
	dim := x.dim(e)
	for i, at := range c.share.At {
		copy(r.data[int(at)*dim:][:dim], g[i*dim:])
	}
}
