package exchange

import (
	"context"
	"slices"

	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/wire"
)

// Take is given rows of the layout's embedding e, and their weights one row after the other.
type Take func(e int, ids []uint64, w []float32) error

// Changed brings rows of a server that have changed since this worker's last question, as many as one frame holds, and
// gives them to take, by embedding. more says that some are left.
func (x *Exchange) Changed(ctx context.Context, s int, step, acked uint64, take Take) (more bool, err error) {
	b := &x.lanes[s].build
	b.Reset(x.header(&Request{Op: wire.OpStep, Seq: step, Acked: acked}))
	for e := range x.s.Layout.Embeddings {
		b.Changed(x.table(e))
	}
	err = x.send(ctx, s, func(f *wire.Frame) error {
		more = false
		for _, sec := range f.Sections {
			switch sec.Kind {
			case wire.KindChanged:
				more = true
			case wire.KindRows:
				if err := x.takeChanged(sec, take); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return more, err
}

func (x *Exchange) takeChanged(sec wire.Section, take Take) error {
	e := slices.IndexFunc(x.s.Layout.Embeddings, func(e layout.Embedding) bool { return e.Index == int(sec.Param) })
	if e < 0 {
		return wire.ErrFrame
	}
	ids, err := sec.IDs(nil)
	if err != nil {
		return err
	}
	w, err := sec.Rows()
	if err != nil {
		return err
	}
	return take(e, ids, w)
}
