package dataset

import (
	"context"
	"io"
)

// Source is a source of rows: files, a generator, or your own reader. [New] makes a [Dataset] of it.
type Source interface {
	// Columns describes the rows. It is the same at every call.
	Columns() []Column
	// Open starts a pass over the rows. Differences between passes (an order, random numbers) must be a function of
	// epoch only. Passes of one source may run at the same time.
	Open(epoch int) (Reader, error)
}

// ContextSource is a source whose passes end with a context, even while a Read waits for data. [Dataset.BatchesContext]
// and [Dataset.Load] pass their contexts. The context of a loop ends with the loop.
type ContextSource interface {
	Source
	// OpenContext is Open with a context: soon after it ends, a Read returns an error that wraps its cause.
	OpenContext(ctx context.Context, epoch int) (Reader, error)
}

// open starts a pass that ends with ctx, if the source supports that.
func open(ctx context.Context, s Source, epoch int) (Reader, error) {
	if c, ok := s.(ContextSource); ok {
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

// Sharder is a source that can skip rows of other workers at less cost than reading them.
type Sharder interface {
	Source
	// Shard returns the same source with only the records whose number, from 0, modulo workers is index. Each record is
	// a row.
	Shard(index, workers int) Source
}
