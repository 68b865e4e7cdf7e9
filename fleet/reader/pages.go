package reader

import (
	"cmp"
	"context"
	"errors"

	"github.com/gofleet/gofleet/internal/wire"
)

// Page is some rows of a table at one moment.
type Page struct {
	IDs    []uint64  // ascending within the page
	W      []float32 // the rows one after another, Dim numbers each
	Moment Moment
	// Again says that the server has restarted from its journal, and its rows begin again with this page.
	Again bool
}

// Each calls do with all trained or loaded rows of an embedding, page by page, server by server. A row that exists all
// the time comes once, and once more if its server restarts meanwhile (Page.Again). Rows are sorted only within a page.
// An error of do ends the call and is returned. do may keep a page's memory.
//
// Without other readers, a table of a million rows takes 100 s at FLEET_READ_ROWS of 10,000.
func (r *Reader) Each(ctx context.Context, name string, do func(Page) error) error {
	p, err := r.param(name)
	if err != nil {
		return err
	}
	for server := range r.servers {
		if err := r.each(ctx, p, server, do); err != nil {
			return err
		}
	}
	return nil
}

// errAnew ends a pass over the rows of a server that was restarted, since its rows are at other places.
var errAnew = errors.New("the server came back")

// each is Each for one server.
func (r *Reader) each(ctx context.Context, p *wire.ReadableParam, server int, do func(Page) error) error {
	ask := wire.Read{What: wire.ReadPage, Param: p.Index, Rows: p.Most}
	for life, again := uint32(0), false; ; {
		var page Page
		done := false
		err := r.ask(ctx, server, func(b *wire.Builder) error { return b.JSON(ask) }, func(f *wire.Frame) error {
			if f.ServerLife != life {
				life = f.ServerLife
				if ask.From > 0 {
					again = true
					return errAnew
				}
			}
			s, out, err := rowsOf(f)
			if err == nil {
				page.IDs, err = s.IDs(nil)
			}
			var w []float32
			if err == nil {
				w, err = s.Rows()
			}
			if err != nil || len(w) != len(page.IDs)*p.Dim {
				return cmp.Or(err, errAnswer)
			}
			page.W, page.Moment, page.Again = append([]float32(nil), w...), r.moment(server, f), again
			ask.From, done = out.Next, out.Done
			return nil
		})
		if errors.Is(err, errAnew) {
			ask.From = 0
			continue
		}
		if err != nil {
			return err
		}
		if again = false; len(page.IDs) > 0 || page.Again {
			if err := do(page); err != nil {
				return err
			}
		}
		if done {
			return nil
		}
	}
}
