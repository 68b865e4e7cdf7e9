package dataset

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"sync"

	local "github.com/gofleet/gofleet/internal/files"
)

// crewReader is one pass over files whose lines several goroutines parse: one goroutine divides the files into chunks
// of whole lines, the crew parses them, and Read returns them in their order.
type crewReader struct {
	filesReader
	cancel context.CancelFunc
	queue  chan *chunk // in order
	work   chan *chunk // the same chunks, for the next free goroutine
	free   chan *chunk // parsed and read
	crew   sync.WaitGroup

	now   *chunk
	taken int // rows of now that were read
	sized int // the number of the file whose rows were estimated last
	ended error
}

// chunk is some lines of a file, and their rows.
type chunk struct {
	head  head
	text  []byte
	ends  []int // of the lines in text
	at    []int // their line numbers in the file
	err   error // why no lines follow these, if none do
	table *Table
	bad   []badRow
	done  chan struct{} // receives one value when the chunk is parsed
}

// badRow is a line that could not be parsed.
type badRow struct {
	before int // rows of the chunk
	err    error
}

// chunkText is the approximate number of bytes of text in a chunk.
const chunkText = 64 << 10

// threads returns the number of goroutines that parse in a pass.
func (f *Files) threads(ctx context.Context) int {
	switch {
	case f.Threads > 0:
		return f.Threads
	case local.Loading(ctx) && linewise(f.Format):
		return runtime.GOMAXPROCS(0)
	}
	return 1
}

func newCrewReader(ctx context.Context, f *Files, threads int) *crewReader {
	chunks := 2*threads + 2
	r := &crewReader{queue: make(chan *chunk, chunks), work: make(chan *chunk, chunks), free: make(chan *chunk, chunks)}
	r.Files = f
	r.ctx, r.cancel = context.WithCancel(ctx)
	columns := f.Columns()
	for range chunks {
		r.free <- &chunk{table: newTable(columns), done: make(chan struct{}, 1)}
	}
	r.crew.Go(r.cut)
	for range threads {
		r.crew.Go(r.parse)
	}
	return r
}

// cut makes chunks until the files or the pass end.
func (r *crewReader) cut() {
	defer close(r.queue)
	defer close(r.work)
	defer r.closeFile()
	var line []byte // the first line of the next chunk
	for {
		var c *chunk
		select {
		case c = <-r.free:
		case <-r.ctx.Done():
			return
		}
		line = c.fill(&r.lineReader, line)
		r.queue <- c // the queue has room for all chunks
		r.work <- c
		if c.err != nil {
			return
		}
	}
}

// fill takes lines of one file, of which the first may have been read already. If it comes to the next file, it returns
// that file's first line.
func (c *chunk) fill(r *lineReader, line []byte) (next []byte) {
	c.text, c.ends, c.at, c.err, c.bad = c.text[:0], c.ends[:0], c.at[:0], nil, c.bad[:0]
	if line != nil {
		c.add(r, line)
	}
	for len(c.text) < chunkText {
		if line, c.err = r.next(); c.err != nil {
			return nil
		}
		if len(c.at) > 0 && c.head.number != r.head.number {
			return line
		}
		c.add(r, line)
	}
	return nil
}

func (c *chunk) add(r *lineReader, line []byte) {
	c.head, c.text = r.head, append(c.text, line...)
	c.ends, c.at = append(c.ends, len(c.text)), append(c.at, r.at)
}

// parse parses chunks.
func (r *crewReader) parse() {
	var parser Parser
	var of int // the number of the parser's file
	for c := range r.work {
		c.table.Reset()
		c.table.from(r.Paths)
		var err error
		if len(c.at) > 0 && of != c.head.number {
			of = c.head.number
			r.missed.add(parser)
			parser, err = r.newParser(&c.head)
		}
		if err != nil {
			c.bad = append(c.bad, badRow{0, err})
		} else {
			c.parse(parser)
		}
		c.done <- struct{}{}
	}
	r.missed.add(parser)
}

func (c *chunk) parse(p Parser) {
	begin := 0
	for i, end := range c.ends {
		if err := parseRow(p, c.text[begin:end], c.table, &c.head, c.at[i]); err != nil {
			c.bad = append(c.bad, badRow{c.table.Len(), err})
		}
		begin = end
	}
}

// Read appends the rows of the next chunks.
func (r *crewReader) Read(t *Table, n int) (int, error) {
	before := t.Len()
	for t.Len()-before < n {
		if r.now == nil {
			if err := r.advance(); err == io.EOF {
				return endOr(t.Len() - before)
			} else if err != nil {
				return t.Len() - before, err
			}
		}
		if err := r.give(t, n-(t.Len()-before)); err != nil {
			r.ended = err
			return t.Len() - before, err
		}
	}
	return t.Len() - before, nil
}

// advance waits for the next chunk.
func (r *crewReader) advance() error {
	if r.ended != nil {
		return r.ended
	}
	select {
	case c, more := <-r.queue:
		if !more {
			return r.given()
		}
		<-c.done
		r.now, r.taken = c, 0
		return nil
	case <-r.ctx.Done():
		return r.given()
	}
}

// given is the error of a pass that was given up.
func (r *crewReader) given() error {
	return fmt.Errorf("dataset: reading files was ended: %w", context.Cause(r.ctx))
}

// estimate returns about how many rows the file has that is read, by its size and the lines of a chunk; 0 if that is
// not known, or was asked for before.
func (r *crewReader) estimate() int {
	c := r.now
	if c == nil || c.head.number == r.sized || r.mine != nil || r.PipeCommand != "" {
		return 0
	}
	r.sized = c.head.number
	stat := os.Stat
	if r.FS != nil {
		stat = func(path string) (fs.FileInfo, error) { return fs.Stat(r.FS, path) }
	}
	st, err := stat(c.head.path)
	if err != nil || !st.Mode().IsRegular() {
		return 0
	}
	return int(float64(st.Size()) / float64(len(c.text)+len(c.ends)) * float64(c.table.Len()))
}

// give appends at most n rows of the chunk, up to its next bad line.
func (r *crewReader) give(t *Table, n int) error {
	c := r.now
	end := c.table.Len()
	if len(c.bad) > 0 {
		end = c.bad[0].before
	}
	end = min(end, r.taken+n)
	t.gatherRun(c.table, r.taken, end)
	r.taken = end
	if len(c.bad) > 0 && end == c.bad[0].before {
		bad := c.bad[0]
		c.bad = c.bad[1:]
		return r.pass(bad.err)
	}
	if r.taken < c.table.Len() || len(c.bad) > 0 {
		return nil
	}
	r.now = nil
	if r.ended = c.err; c.err == nil {
		r.free <- c
	}
	if r.ended == io.EOF {
		r.crew.Wait() // the crew has nothing more to do
		r.whole(nil)
	}
	return nil
}

// Close ends the pass, and waits for its goroutines.
func (r *crewReader) Close() error {
	r.cancel()
	r.crew.Wait()
	r.warn()
	return nil
}
