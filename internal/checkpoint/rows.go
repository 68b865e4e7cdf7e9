package checkpoint

import (
	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/safetensors"
	"github.com/gofleet/gofleet/internal/table"
)

const (
	// rowsAtOnce, and bytesAtOnce for wide rows, bound the memory of loading rows.
	rowsAtOnce  = 8192
	bytesAtOnce = 8 << 20
)

// rows loads the rows of a table that this process owns. It reads the next rows while it puts some into the table.
func (l *loader) rows(f *safetensors.File, t tableInfo, to *table.Filler) error {
	free, over := make(chan *batch, 2), make(chan struct{})
	for range cap(free) {
		free <- &batch{Columns: table.Columns{Stateless: l.weights}}
	}
	full := readAhead(f, t, free, over)
	defer func() {
		close(over)
		for range full { // the file is not read any more when this returns
		}
	}()
	for b := range full {
		if err := first(func() error { return b.err }, func() error { return files.Ended(l.ctx) },
			func() error { return l.put(b, to) }); err != nil {
			return err
		}
		free <- b
	}
	return nil
}

// readAhead reads the rows of a table into free batches, until one fails or over is closed.
func readAhead(f *safetensors.File, t tableInfo, free chan *batch, over chan struct{}) chan *batch {
	full := make(chan *batch)
	go func() {
		defer close(full)
		t.each(func(at, n int) bool {
			select {
			case b := <-free:
				b.err = b.read(f, t, at, n)
				full <- b
				return b.err == nil
			case <-over:
				return false
			}
		})
	}()
	return full
}

// each calls do with the first row and the number of rows of each piece, in order, until do returns false.
func (t *tableInfo) each(do func(at, n int) bool) {
	atOnce := max(1, min(rowsAtOnce, bytesAtOnce/(4*(t.Dim+t.State))))
	for at := 0; at < t.Rows; at += atOnce {
		if !do(at, min(atOnce, t.Rows-at)) {
			return
		}
	}
}

// put puts a batch into the table.
func (l *loader) put(b *batch, to *table.Filler) error {
	for i, step := range b.Steps {
		b.Steps[i] = l.stepOf(step)
	}
	return to.Rows(&b.Columns)
}

// batch holds rows that were read together.
type batch struct {
	table.Columns
	err error
}

// read reads n rows, from row at on.
func (b *batch) read(f *safetensors.File, t tableInfo, at, n int) error {
	width := t.Dim + t.State
	b.IDs, b.Floats = room(b.IDs, n), room(b.Floats, n*width)
	return first(
		func() error { return safetensors.ReadAt(f, t.ids(), b.IDs, at) },
		func() error { return t.columns(&b.Columns).read(f, at, n) },
		func() error { return safetensors.ReadAt(f, t.rows(), b.Floats, at*width) },
	)
}

// room returns a slice of n elements, in s's memory if that suffices.
func room[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
