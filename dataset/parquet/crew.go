package parquet

import (
	"context"
	"sync"

	"github.com/gofleet/gofleet/dataset"
)

// crewReader is one pass over files whose rows several goroutines decode: one goroutine divides the files into parts,
// the crew decodes them, and Read returns the rows in their order.
//
// Text has a crew of its own (parallel.go of package dataset). What the two share, three channels and the wait for the
// next chunk, would be no shorter with calls back for what differs: a bad line is passed over, a part holds its file.
type crewReader struct {
	ctx    context.Context
	cancel context.CancelFunc
	queue  chan *chunk // in order
	work   chan *chunk // the same chunks, for the next free goroutine
	free   chan *chunk // decoded and read
	crew   sync.WaitGroup

	now   *chunk
	taken int // rows of now that were read
	all   []int
	ended error
}

// chunk is a part, and its rows.
type chunk struct {
	part
	table *dataset.Table
	err   error         // why no rows follow these, if none do
	done  chan struct{} // receives one value when the chunk is decoded
}

// Each part has about partRows rows, of which makeRows are decoded between two checks of the context.
const (
	partRows = 1 << 16
	makeRows = 1 << 12
)

func newCrewReader(ctx context.Context, files cutter, threads int) (*crewReader, error) {
	chunks := threads + 2 // each goroutine has one, one is read, one is next
	r := &crewReader{queue: make(chan *chunk, chunks), work: make(chan *chunk, chunks), free: make(chan *chunk, chunks)}
	for range chunks {
		table, err := dataset.NewTable(files.Columns()...)
		if err != nil {
			return nil, err
		}
		r.free <- &chunk{table: table, done: make(chan struct{}, 1)}
	}
	r.ctx, r.cancel = context.WithCancel(ctx)
	files.ctx = r.ctx
	r.crew.Go(func() { r.cut(&files) })
	for range threads {
		r.crew.Go(r.make)
	}
	return r, nil
}

// cut makes chunks until the files or the pass end.
func (r *crewReader) cut(files *cutter) {
	defer close(r.queue)
	defer close(r.work)
	defer files.close()
	for {
		var c *chunk
		select {
		case c = <-r.free:
		case <-r.ctx.Done():
			return
		}
		c.table.Reset()
		c.part, c.err = files.next(partRows)
		r.queue <- c // the queue has room for all chunks
		if c.err != nil {
			c.done <- struct{}{}
			return
		}
		r.work <- c
	}
}

// make decodes the rows of parts.
func (r *crewReader) make() {
	var d decoder
	defer d.close()
	for c := range r.work {
		c.err = r.rows(&d, c)
		c.file.release()
		c.done <- struct{}{}
	}
}

// rows decodes the rows of a chunk.
func (r *crewReader) rows(d *decoder, c *chunk) error {
	if err := d.seek(c.part); err != nil {
		return err
	}
	for d.row < d.end {
		if r.ctx.Err() != nil {
			return ended(r.ctx)
		}
		if err := d.read(c.table, makeRows); err != nil {
			return err
		}
	}
	return nil
}

// Read appends the rows of the next chunks.
func (r *crewReader) Read(t *dataset.Table, n int) (int, error) {
	before := t.Len()
	for t.Len()-before < n && r.ended == nil {
		if r.now == nil {
			r.ended = r.advance()
			continue
		}
		r.ended = r.give(t, n-(t.Len()-before))
	}
	return got(t.Len()-before, r.ended)
}

// advance waits for the next chunk.
func (r *crewReader) advance() error {
	select {
	case c, more := <-r.queue:
		if !more {
			return ended(r.ctx)
		}
		<-c.done
		r.now, r.taken = c, 0
		return nil
	case <-r.ctx.Done():
		return ended(r.ctx)
	}
}

// give appends at most n rows of the chunk, and at its end returns its error.
func (r *crewReader) give(t *dataset.Table, n int) error {
	c := r.now
	end := min(c.table.Len(), r.taken+n)
	if err := t.Append(c.table, r.numbers(end)[r.taken:end]...); err != nil {
		return err
	}
	if r.taken = end; end < c.table.Len() {
		return nil
	}
	r.now = nil
	if c.err != nil {
		return c.err
	}
	r.free <- c
	return nil
}

// numbers returns the numbers of the first n rows.
func (r *crewReader) numbers(n int) []int {
	for i := len(r.all); i < n; i++ {
		r.all = append(r.all, i)
	}
	return r.all
}

// Close ends the pass, and waits for its goroutines.
func (r *crewReader) Close() error {
	r.cancel()
	r.crew.Wait()
	return nil
}
