package exchange

import (
	"context"
	"slices"

	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// Payloads maps the strategy's payloads to encodings of frames.
var Payloads = map[strategy.Payload]wire.Encoding{
	strategy.PayloadFloat32:  wire.Float32,
	strategy.PayloadFloat16:  wire.Float16,
	strategy.PayloadBFloat16: wire.BFloat16,
	strategy.PayloadInt8:     wire.Int8,
}

// feedback is the error feedback of pushes in narrow payloads: the rounding error of a gradient is owed to its variable
// or row, and added to the next gradient of the same before that is rounded. So over many steps the servers get the sum
// of the gradients up to what is owed, which is half of a last place.
//
// A frame is narrowed once and repeated unchanged, so that a retry neither loses nor doubles what is owed. Pieces that
// begin again are made of the gradient itself. The errors that are owed when a session ends are dropped: they are too
// small for any push to carry. Every session, and in async mode every sender, has its own feedback: a copy of the dense
// gradients, and [owed] for the rows of each embedding.
type feedback struct {
	dense [][]float32     // by param: what is owed and, during a push, the gradient plus that
	rows  []gradient.Rows // by embedding: the push under way
	owed  []owed          // by embedding
	plain gradient.Step   // the push under way, without what is owed
}

func newFeedback(l *layout.Layout) *feedback {
	k := &feedback{
		dense: make([][]float32, len(l.Params)),
		rows:  make([]gradient.Rows, len(l.Embeddings)),
		owed:  make([]owed, len(l.Embeddings)),
	}
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

// narrowly is exchange for a push in a narrow payload. A push that failed drops all that is owed, since it is not known
// which servers have its gradients.
func (x *Exchange) narrowly(ctx context.Context, r Request) error {
	if x.feedback == nil {
		x.feedback = newFeedback(x.s.Layout)
	}
	k := x.feedback
	k.plain = r.Push
	k.add(&r)
	if err := x.exchange(ctx, r); err != nil {
		x.feedback = nil
		return err
	}
	k.plain = gradient.Step{}
	for e := range r.Push.Rows {
		k.owed[e].keep(r.Push.Rows[e].G)
	}
	return nil
}

// add replaces the gradients of a push by their sums with what is owed, in k's memory, where rounding will leave its
// errors. A sum beyond float32 drops what was owed.
func (k *feedback) add(r *Request) {
	for i, owed := range k.dense {
		if owed == nil {
			continue
		}
		kernels.Add(owed, owed, r.Push.Dense[i])
		if kernels.FirstNotFinite(owed) >= 0 {
			copy(owed, r.Push.Dense[i])
		}
	}
	for e := range r.Push.Rows {
		k.rows[e].Set(r.Push.Rows[e])
		k.owed[e].add(r.Push.Rows[e].IDs, k.rows[e].G)
		if kernels.FirstNotFinite(k.rows[e].G) >= 0 {
			copy(k.rows[e].G, r.Push.Rows[e].G)
		}
	}
	r.Push.Dense, r.Push.Rows = k.dense, k.rows
}

// restore replaces the rounding errors that pieces have left by the gradient, for a server that asks for them again:
// gathered are its rows, by embedding. What was owed to them is dropped.
func (x *Exchange) restore(s int, r *Request, gathered [][]float32) {
	k := x.feedback
	if k == nil {
		return // nothing is rounded
	}
	plain := slices.Clone(x.span(s, k.plain.Dense, 0, x.floats(s)))
	for i, errors := range x.span(s, r.Push.Dense, 0, x.floats(s)) {
		copy(errors, plain[i])
	}
	for e := range gathered {
		copy(gathered[e], x.gather(&x.lanes[s].push[e], e, k.plain.Rows[e]))
	}
}
