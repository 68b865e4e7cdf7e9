package exchange

import (
	"context"
	"slices"

	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/wire"
)

// Page holds rows of an embedding that have changed, by id, and their weights row after row. Embedding is its index in
// the layout. All says that these rows, with those of the pages that follow, are all rows of the server. More says that
// a page follows.
type Page struct {
	Embedding int
	IDs       []uint64
	W         []float32
	All, More bool
}

// Changed reads the rows of a server that have changed since this worker's last request of this kind, at most as many
// as one frame holds, and passes a page of each embedding to take. more says that rows are left.
func (x *Exchange) Changed(ctx context.Context, s int, step, acked uint64, take func(*Page) error) (more bool,
	err error) {
	b := &x.lanes[s].build
	b.Reset(x.header(&Request{Op: wire.OpStep, Seq: step, Acked: acked}))
	for e := range x.s.Layout.Embeddings {
		b.Changed(x.table(e))
	}
	err = x.send(ctx, s, func(f *wire.Frame) error {
		more = false
		pages := make([]Page, len(x.s.Layout.Embeddings))
		for _, sec := range f.Sections {
			if sec.Kind != wire.KindChanged && sec.Kind != wire.KindRows {
				continue
			}
			if err := x.readChanged(sec, pages); err != nil {
				return err
			}
		}
		for e := range pages {
			pages[e].Embedding, more = e, more || pages[e].More
			if err := take(&pages[e]); err != nil {
				return err
			}
		}
		return nil
	})
	return more, err
}

// readChanged reads a section about changed rows into its embedding's page.
func (x *Exchange) readChanged(sec wire.Section, pages []Page) (err error) {
	e := slices.IndexFunc(x.s.Layout.Embeddings, func(e layout.Embedding) bool { return e.Index == int(sec.Param) })
	if e < 0 {
		return wire.ErrFrame
	}
	p := &pages[e]
	switch {
	case sec.All():
		p.All = true
	case sec.Kind == wire.KindChanged:
		p.More = true
	default:
		if p.IDs, err = sec.IDs(nil); err == nil {
			p.W, err = sec.Rows()
		}
	}
	return err
}
