package client

import (
	"context"
	"slices"
	"strconv"
	"sync"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/wire"
)

// between reads the servers' weights in a cut: all servers hold pushes, at the same steps of every worker. It
// implements [backend.Weights].
type between struct {
	*scans
	dense func(context.Context) (map[string][]float32, error) // of this worker
	// cut is the servers' name of the cut: its number, as text.
	cut string
}

// Cut implements [backend.Trainer]. It makes the servers hold pushes at the same steps of every worker, calls do, which
// reads the weights, and lets pushes go on. If a server with a journal was restarted meanwhile, Cut begins again and
// calls do again. do must not push: its push would wait for the end of the cut. An error of do ends the cut and is
// returned unchanged.
func (c *Client) Cut(ctx context.Context, do func(backend.Weights) error) error {
	done, err := c.turn(ctx, "reading the model")
	if err != nil {
		return err
	}
	defer done()
	read := func(number uint64, _ [][]byte) (none wire.Chain, err error) {
		return none, do(&between{c.scans, c.Dense, nameOf(number)})
	}
	return c.cuts.repeat(func() error {
		_, err := c.cuts.lead(ctx, call{task: cut.Task{Read: true}, read: read})
		return err
	})
}

// nameOf returns the servers' name of a cut that is read.
func nameOf(number uint64) string { return strconv.FormatUint(number, 10) }

// Dense returns what [Client.Dense] does.
func (k *between) Dense(ctx context.Context) (map[string][]float32, error) { return k.dense(ctx) }

// Count returns the number of rows of an embedding. It asks all servers at once; each counts the list that it made when
// the cut was reached.
func (k *between) Count(ctx context.Context, name string) (int, error) {
	e, err := k.embedding(name)
	if err != nil {
		return 0, err
	}
	counts := make([]page, len(k.link.servers))
	scan := wire.Scan{Param: uint32(e.Index), Cut: k.cut, Count: true}
	err = k.link.together(func(s int) error { return k.page(ctx, s, scan, &counts[s]) })
	n := 0
	for _, p := range counts {
		n += p.All
	}
	return n, err
}

// IDs passes the ids of all rows to yield, ascending. The slice is valid until yield returns.
func (k *between) IDs(ctx context.Context, name string, yield func(ids []uint64) error) error {
	return k.each(ctx, name, wire.Scan{IDs: true}, func(ids []uint64, _ []float32) error { return yield(ids) })
}

// Rows passes all rows to yield, by ascending id. The slices are valid until yield returns.
func (k *between) Rows(ctx context.Context, name string, yield func(ids []uint64, w []float32) error) error {
	return k.each(ctx, name, wire.Scan{}, yield)
}

// gone passes to yield the ids of rows that a model for serving must drop, ascending.
func (k *between) gone(ctx context.Context, name string, yield func(ids []uint64) error) error {
	return k.each(ctx, name, wire.Scan{IDs: true, Gone: true},
		func(ids []uint64, _ []float32) error { return yield(ids) })
}

// each scans all servers at once, with at most two pages of each in memory, and passes the rows to yield, merged by
// ascending id. yield runs on the caller's goroutine. The reading goroutines have ended when each returns, also when
// yield fails.
func (k *between) each(ctx context.Context, name string, what wire.Scan,
	yield func(ids []uint64, w []float32) error) error {
	e, err := k.embedding(name)
	if err != nil {
		return err
	}
	dim := 0
	if !what.IDs {
		dim = e.Dim()
	}
	ctx, stop := context.WithCancel(ctx)
	var readers sync.WaitGroup
	defer readers.Wait()
	defer stop()
	streams := make([]*stream, len(k.link.servers))
	for s := range streams {
		r := &stream{pages: make(chan *page)}
		streams[s] = r // merge removes a stream that has ended
		scan := k.of(e, k.cut, what.IDs, 3*len(streams))
		scan.Gone = what.Gone
		readers.Go(func() { r.read(ctx, k.scans, s, scan) })
	}
	if err := merge(streams, dim, yield); err != nil {
		return reading(name, err)
	}
	return nil
}

// stream receives the pages of one server's scan. While one page is used the next is on its way.
type stream struct {
	// pages is unbuffered: the reader holds one page, and merge another.
	pages chan *page // closed after the last, or when err is set
	// err is set before pages is closed, and read after that.
	err error
	now *page
	at  int // the index of the next row in now
}

// read reads all pages, on a goroutine of its own, into two buffers in turn. When head takes a page, merge is done with
// the page before, whose buffer is then free.
func (r *stream) read(ctx context.Context, from *scans, server int, scan wire.Scan) {
	defer close(r.pages)
	turns := [2]page{}
	for i := 0; ; i++ {
		p := &turns[i%2] // the other one is in use
		if r.err = from.page(ctx, server, scan, p); r.err != nil {
			return
		}
		done := p.Done
		scan.Cursor = p.Cursor
		select {
		case r.pages <- p:
		case <-ctx.Done():
			r.err = context.Cause(ctx)
			return
		}
		if done {
			return
		}
	}
}

// head returns the next id, and takes the next page when one is used up. ok is false after the last page. It waits for
// the reader, which ends with each's context.
func (r *stream) head() (id uint64, ok bool, err error) {
	for r.now == nil || r.at == len(r.now.ids) {
		r.now, r.at = <-r.pages, 0
		if r.now == nil {
			return 0, false, r.err
		}
	}
	return r.now.ids[r.at], true, nil
}

// merge passes the rows of all streams, each by ascending id, to yield as one sequence. Each id lives on one server, so
// none comes twice. It copies runs, not rows: all ids of a stream below the next ids of all others at once. yield gets
// about an eighth of scanBytes each time.
func merge(streams []*stream, dim int, yield func(ids []uint64, w []float32) error) error {
	var out page
	for {
		next, bound, err := smallest(&streams)
		if err != nil {
			return err
		}
		if next == nil {
			return flush(&out, yield)
		}
		n := next.run(bound)
		out.ids = append(out.ids, next.now.ids[next.at:next.at+n]...)
		out.w = append(out.w, next.now.w[next.at*dim:(next.at+n)*dim]...)
		if next.at += n; len(out.ids)*rowBytes(dim) >= scanBytes/8 {
			if err := flush(&out, yield); err != nil {
				return err
			}
		}
	}
}

// flush passes the rows gathered so far to yield, and empties out. It does nothing if there are none.
func flush(out *page, yield func(ids []uint64, w []float32) error) error {
	if len(out.ids) == 0 {
		return nil
	}
	err := yield(out.ids, out.w)
	out.ids, out.w = out.ids[:0], out.w[:0]
	return err
}

// smallest returns the stream with the smallest next id, and the smallest next id of the others. It removes streams
// that have ended.
func smallest(streams *[]*stream) (least *stream, bound uint64, err error) {
	bound, first := ^uint64(0), ^uint64(0)
	for i := 0; i < len(*streams); {
		r := (*streams)[i]
		id, ok, err := r.head()
		switch {
		case err != nil:
			return nil, 0, err
		case !ok:
			*streams = slices.Delete(*streams, i, i+1)
			continue
		case least == nil || id < first:
			least, first, bound = r, id, first
		default:
			bound = min(bound, id)
		}
		i++
	}
	return least, bound, nil
}

// run returns how many ids of the current page lie below bound, at least one.
func (r *stream) run(bound uint64) int {
	ids, n := r.now.ids[r.at:], 1
	for n < len(ids) && ids[n] < bound {
		n++
	}
	return n
}
