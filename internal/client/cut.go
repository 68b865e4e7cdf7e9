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

// between is the servers' weights between two steps, the same of every worker on all of them, as long as pushes wait.
// It implements [backend.Weights].
type between struct {
	*scans
	dense func(context.Context) (map[string][]float32, error) // of this worker
	// cut is the name that servers know the cut by. It is their number of it, as text.
	cut string
}

// Cut implements [backend.Trainer]: it makes the servers hold back pushes at the same steps of every worker, has do
// read the weights, and lets pushes go on. It begins anew, and calls do again, where a server with a journal was
// started again in the middle. do must not push: its push would wait for the end of the cut. An error of do ends the
// cut and comes back as it is.
func (c *Client) Cut(ctx context.Context, do func(backend.Weights) error) error {
	done, err := c.turn(ctx, "reading the model")
	if err != nil {
		return err
	}
	defer done()
	return c.cuts.repeat(func() error {
		_, err := c.cuts.lead(ctx, call{plan: cut.Plan{cut.Read}, read: func(number uint64, _ [][]byte) (any, error) {
			return nil, do(&between{c.scans, c.Dense, nameOf(number)})
		}})
		return err
	})
}

// nameOf is what servers know a cut by that is read.
func nameOf(number uint64) string { return strconv.FormatUint(number, 10) }

// Dense brings what [Client.Dense] does.
func (k *between) Dense(ctx context.Context) (map[string][]float32, error) { return k.dense(ctx) }

// Count is the number of rows of an embedding. It asks all servers at once, each of which counts the list that it made
// when the cut was reached.
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

// IDs gives yield the ids of all rows, ascending. The slice is valid until yield returns.
func (k *between) IDs(ctx context.Context, name string, yield func(ids []uint64) error) error {
	return k.each(ctx, name, wire.Scan{IDs: true}, func(ids []uint64, _ []float32) error { return yield(ids) })
}

// Rows gives yield all rows, by ascending id. The slices are valid until yield returns.
func (k *between) Rows(ctx context.Context, name string, yield func(ids []uint64, w []float32) error) error {
	return k.each(ctx, name, wire.Scan{}, yield)
}

// gone gives yield the ids of rows that a model for serving is not to have any more, ascending.
func (k *between) gone(ctx context.Context, name string, yield func(ids []uint64) error) error {
	return k.each(ctx, name, wire.Scan{IDs: true, Gone: true},
		func(ids []uint64, _ []float32) error { return yield(ids) })
}

// each reads what a scan brings of all servers. Every server's pages come beside the others', two of each at a time,
// and yield gets them merged by ascending id. yield runs on the caller's goroutine. Readers have ended when each
// returns, also when yield fails.
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
		streams[s] = r // which merge drops when it ends
		scan := k.of(e, k.cut, what.IDs, 3*len(streams))
		scan.Gone = what.Gone
		readers.Go(func() { r.read(ctx, k.scans, s, scan) })
	}
	if err := merge(streams, dim, yield); err != nil {
		return reading(name, err)
	}
	return nil
}

// stream is what comes of a scan of one server, page after page. While one is used the next is on its way.
type stream struct {
	// pages has no room: the reader holds one page, and the merge another.
	pages chan *page // closed after the last, or when err is set
	// err is set before pages is closed, and read after that.
	err error
	now *page
	at  int // of now
}

// read reads all pages. It runs on its own goroutine. When head takes a page it is done with the one before, whose
// buffer has the next but one.
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

// head is the next id. It takes the next page when one is used up. ok is false behind the last page. It waits for the
// reader, which ends with each's context.
func (r *stream) head() (id uint64, ok bool, err error) {
	for r.now == nil || r.at == len(r.now.ids) {
		r.now, r.at = <-r.pages, 0
		if r.now == nil {
			return 0, false, r.err
		}
	}
	return r.now.ids[r.at], true, nil
}

// merge gives yield the rows of all streams, each by ascending id, as one. Servers share ids, so that none comes twice.
// It hands on runs, not rows: all ids of a stream below the heads of all others go at once. yield gets about an eighth
// of scanBytes each time.
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

// flush gives yield the rows gathered so far, and empties out for more. Where there are none it does nothing.
func flush(out *page, yield func(ids []uint64, w []float32) error) error {
	if len(out.ids) == 0 {
		return nil
	}
	err := yield(out.ids, out.w)
	out.ids, out.w = out.ids[:0], out.w[:0]
	return err
}

// smallest is the stream with the smallest id, and the smallest id of the others; streams that have ended are dropped.
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

// run is how many ids of the page at hand are below bound, and at least one.
func (r *stream) run(bound uint64) int {
	ids, n := r.now.ids[r.at:], 1
	for n < len(ids) && ids[n] < bound {
		n++
	}
	return n
}
