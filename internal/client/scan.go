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

// scanBytes is about the memory of the pages of rows that are read at once, from one server or from all together.
const scanBytes = 2 << 20

// rowBytes is the most that an id and its row take in a frame.
func rowBytes(dim int) int { return 10 + 4*dim }

// scans read the rows of servers, a page at a time.
type scans struct {
	link   *link
	layout *layout.Layout
	round  func() mode.Round // that the weights are of
	most   int               // bytes of a frame
}

// Rows implements [backend.Trainer]. It begins when everything that this worker has trained has arrived, and goes from
// server to server, by ascending id on each. Nothing holds the servers: pushes of others go on between two pages, so
// that pages may be of different steps. Cut is for what must fit together. The slices are valid until yield returns.
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

// reading names the table that an error is about. An error about a server keeps that, with the table beside.
func reading(name string, err error) error {
	if about := new(peer.Error); errors.As(err, &about) {
		with := *about
		with.Table, with.Err = name, fmt.Errorf("reading rows of %q: %w", name, err)
		return &with
	}
	return fmt.Errorf("reading rows of %q: %w", name, err)
}

// embedding is where an embedding is among the params.
func (c *scans) embedding(name string) (layout.Embedding, error) {
	for _, e := range c.layout.Embeddings {
		if e.Name == name {
			return e, nil
		}
	}
	return layout.Embedding{}, backend.NoEmbedding(name)
}

// of begins a scan, of pages whose size lets so many of them be in memory, and each in a frame. at is how many pages
// are in memory together. An empty cut scans the tables as they are.
func (c *scans) of(e layout.Embedding, cut string, ids bool, at int) wire.Scan {
	dim := 0
	if !ids {
		dim = e.Dim()
	}
	bytes := min(scanBytes/at, c.most/2)
	return wire.Scan{Param: uint32(e.Index), Rows: max(1, bytes/rowBytes(dim)), Cut: cut, IDs: ids}
}

// page are rows of one server, and what it said of the scan. ids and w are used again for the next page; w has the
// dimension's floats for each id, and is empty where ids alone were asked for.
type page struct {
	wire.Scanned
	ids []uint64
	w   []float32
}

// page reads the next page of a server into p. The buffers of p are used again. A request that is repeated reads the
// answer from its start.
func (c *scans) page(ctx context.Context, s int, scan wire.Scan, p *page) error {
	var b wire.Builder
	h := c.link.header(s, wire.OpScan)
	h.Round = uint64(c.round())
	b.Reset(h)
	if err := b.JSON(scan); err != nil {
		return err
	}
	return c.link.call(ctx, c.link.controlPatience(), s, b.Parts(), func(f *wire.Frame) error {
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

// read takes one section of an answer: ids, and weights if it has them.
func (p *page) read(sec wire.Section) (err error) {
	if p.ids, err = sec.IDs(p.ids[:0]); err != nil || sec.Kind == wire.KindIDs {
		return err
	}
	rows, err := sec.Rows()
	p.w = append(p.w[:0], rows...)
	return err
}
