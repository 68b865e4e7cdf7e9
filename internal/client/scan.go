package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/peer"
	"github.com/gofleet/gofleet/internal/wire"
)

// scanBytes is about the memory of all pages of rows that are in memory at once, from one server or from several.
const scanBytes = 2 << 20

// rowBytes returns the most bytes of an id and its row in a frame.
func rowBytes(dim int) int { return 10 + 4*dim }

// scans reads rows from servers, a page at a time.
type scans struct {
	link   *link
	layout *layout.Layout
	round  func() mode.Round // this worker's round, which servers must have reached
	most   int               // bytes of a frame
}

// Rows implements [backend.Trainer]. It settles first, then reads one server after the other, by ascending id on each.
// Other workers' pushes continue between two pages, so that pages may be of different steps; Cut reads rows that fit
// together. The slices are valid until yield returns.
func (c *Client) Rows(ctx context.Context, name string, yield func(ids []uint64, w []float32) error) error {
	e, err := c.scans.embedding(name)
	if err == nil {
		err = c.settle(ctx)
	}
	if err != nil {
		return err
	}
	for s := range c.Servers {
		var p page
		for scan := c.scans.of(e, "", false, 1); !p.Done; scan.Cursor = p.Cursor {
			if err := c.scans.page(ctx, s, scan, &p); err != nil {
				return reading(name, err)
			}
			if len(p.ids) == 0 {
				continue
			}
			if err := yield(p.ids, p.w); err != nil {
				return reading(name, err)
			}
		}
	}
	return nil
}

// reading adds the table's name to an error. An error about a server stays a *peer.Error.
func reading(name string, err error) error {
	if about := new(peer.Error); errors.As(err, &about) {
		with := *about
		with.Table, with.Err = name, fmt.Errorf("reading rows of %q: %w", name, err)
		return &with
	}
	return fmt.Errorf("reading rows of %q: %w", name, err)
}

// embedding returns the embedding of that name in the layout.
func (c *scans) embedding(name string) (layout.Embedding, error) {
	for _, e := range c.layout.Embeddings {
		if e.Name == name {
			return e, nil
		}
	}
	return layout.Embedding{}, backend.NoEmbedding(name)
}

// of returns the first request of a scan. Its pages are so small that at of them fit scanBytes, and each a frame. An
// empty cut scans the tables as they are.
func (c *scans) of(e layout.Embedding, cut string, ids bool, at int) wire.Scan {
	dim := 0
	if !ids {
		dim = e.Dim()
	}
	bytes := min(scanBytes/at, c.most/2)
	return wire.Scan{Param: uint32(e.Index), Rows: max(1, bytes/rowBytes(dim)), Cut: cut, IDs: ids}
}

// page holds rows of one server, and its answer's fields. ids and w are reused for the next page; w has the dimension's
// floats for each id, and is empty if only ids were asked for.
type page struct {
	wire.Scanned
	ids []uint64
	w   []float32
}

// page reads the next page of a server into p, whose buffers it reuses. Each attempt at a request reads the answer from
// its start.
func (c *scans) page(ctx context.Context, s int, scan wire.Scan, p *page) error {
	var b wire.Builder
	h := c.link.header(s, wire.OpScan)
	h.Round = uint64(c.round())
	b.Reset(h)
	if err := b.JSON(scan); err != nil {
		return err
	}
	return c.link.do(ctx, c.link.controlPatience(), s, b.Parts(), func(f *wire.Frame) error {
		p.Scanned, p.ids, p.w = wire.Scanned{}, p.ids[:0], p.w[:0]
		if err := f.JSON(&p.Scanned); err != nil {
			return err
		}
		for _, sec := range f.Sections {
			if sec.Kind == wire.KindRows || sec.Kind == wire.KindIDs {
				if err := p.read(sec); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// read reads one section of an answer: ids, and weights if it has them.
func (p *page) read(sec wire.Section) (err error) {
	if p.ids, err = sec.IDs(p.ids[:0]); err != nil || sec.Kind == wire.KindIDs {
		return err
	}
	rows, err := sec.Rows()
	p.w = append(p.w[:0], rows...)
	return err
}
