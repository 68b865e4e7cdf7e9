package dataset

import (
	"context"
	"io"
)

// Source is a source of rows: files, a generator, or your own reader. [New] makes a [Dataset] of it.
//
// It may have further methods:
//
//	OpenContext(ctx context.Context, epoch int) (Reader, error)
//		is called in place of Open, with the context of [Dataset.BatchesContext] or [Dataset.Load], or of a loop, which
//		ends with the loop: soon after it ends, a Read returns an error that wraps its cause
//	Shard(index, workers int) Source
//		the source with only the records whose number, from 0, modulo workers is index, each of which is a row, at less
//		cost than reading those of other workers
type Source interface {
	// Columns describes the rows. It is the same at every call.
	Columns() []Column
	// Open starts a pass over the rows. Differences between passes (an order, random numbers) must be a function of
	// epoch only. Passes of one source may run at the same time.
	Open(epoch int) (Reader, error)
}

// open starts a pass that ends with ctx, if the source supports that.
func open(ctx context.Context, s Source, epoch int) (Reader, error) {
	if c, ok := s.(interface {
		OpenContext(ctx context.Context, epoch int) (Reader, error)
	}); ok {
		return c.OpenContext(ctx, epoch)
	}
	return s.Open(epoch)
}

// Reader is one pass over a source. It is used by one goroutine.
type Reader interface {
	// Read appends at most n rows to t, whose columns are the source's, and returns how many. It returns io.EOF, and
	// no rows, after the last one. After an error the rows appended so far stay good.
	Read(t *Table, n int) (int, error)
	// Close ends the pass, early or not.
	Close() error
}

// endOr returns the result of a Read that appended n rows without an error.
func endOr(n int) (int, error) {
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// Indexed is a source with random access to its rows, so that they can be shuffled.
type Indexed interface {
	Columns() []Column
	// Len is the number of rows.
	Len() int
	// Gather appends these rows (each in [0, Len)) to t. It may be called from several goroutines.
	Gather(t *Table, rows []int) error
}
