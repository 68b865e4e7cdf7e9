package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Dataset is a source of rows with what is to be done to them on the way to a batch. It is a value that never changes:
// every method returns a new one, so that one dataset may serve several loops at the same time.
//
// A wrong argument does not panic: the dataset remembers it, [Dataset.Err] tells it, and so does the first batch.
type Dataset struct {
	source   Source
	maps     []func(Batch) error
	epoch    int
	ahead    int
	dropLast bool
	// mayBeEmpty lets a pass have no batch.
	mayBeEmpty bool
	err        error
}

// New makes a dataset of a source that is read from front to back.
func New(s Source) *Dataset {
	d := &Dataset{source: s}
	if f, ok := s.(*Files); ok {
		d.err = f.check()
	}
	if d.err == nil {
		d.err = checkColumns(s.Columns())
	}
	return d
}

// FromIndexed makes a dataset of a source whose rows can be had in any order.
func FromIndexed(s Indexed) *Dataset { return New(newView(s)) }

// Columns describes the rows. [Dataset.Map] may change a batch beyond what they say.
func (d *Dataset) Columns() []Column { return d.source.Columns() }

// Len is the number of rows of one pass, and whether it is known: of files it isn't.
func (d *Dataset) Len() (rows int, known bool) {
	if v, ok := d.source.(*view); ok && d.err == nil {
		return v.len, true
	}
	return 0, false
}

// Err is the first wrong argument that the dataset was built with, or nil.
func (d *Dataset) Err() error { return d.err }

// Epoch sets the number of the pass, 0 by default. Shuffles depend on it and on their seed alone, so any pass can be
// had again. A Shuffle before a [Dataset.Split], Take or Skip depends on the epoch that was set there.
func (d *Dataset) Epoch(epoch int) *Dataset {
	next := *d
	next.epoch = epoch
	return &next
}

// DropLast leaves out the last batch when it would be short.
func (d *Dataset) DropLast() *Dataset {
	next := *d
	next.dropLast = true
	return &next
}

// Map calls f on every batch before it is yielded; f may change values in place and add or replace tensors. The batch
// given to f is as Batches makes it, wherever Map stands in the chain; several maps run in their order. With
// [Dataset.Prefetch] f runs on another goroutine than the loop.
func (d *Dataset) Map(f func(Batch) error) *Dataset {
	next := *d
	next.maps = append(d.maps[:len(d.maps):len(d.maps)], f)
	return &next
}

// Load reads all rows into memory, so that they can be shuffled and counted. Maps are kept, not applied. It ends with
// ctx as [Dataset.BatchesContext] does. What takes more than two seconds is logged now and then, unless FLEET_PROGRESS
// is off.
func (d *Dataset) Load(ctx context.Context) (*Dataset, error) {
	t, why, err := d.read(ctx)
	if err != nil {
		return nil, err
	}
	rows := newView(tableSource{t})
	rows.why = why
	return d.with(rows), nil
}

// Table reads all rows of one pass into a table.
func (d *Dataset) Table(ctx context.Context) (*Table, error) {
	t, _, err := d.read(ctx)
	return t, err
}

// Batch is all rows of one pass as one batch, which belongs to the caller: rows in hand, such as a request's, ready to
// be fed.
func (d *Dataset) Batch(ctx context.Context) (Batch, error) {
	t, why, err := d.read(ctx)
	if err != nil {
		return nil, err
	}
	if t.Len() == 0 {
		return nil, fmt.Errorf("%w: %s", ErrNoRows, why)
	}
	s := &slot{table: t, bound: make([]bound, len(t.columns)), batch: Batch{}}
	return s.bindMapped(d.maps)
}

// read reads all rows of one pass. Why says what there is to say if there are none.
func (d *Dataset) read(ctx context.Context) (rows *Table, why string, err error) {
	if d.err != nil {
		return nil, "", d.err
	}
	r, err := open(context.WithValue(ctx, loading{}, true), d.source, d.epoch)
	if err != nil {
		return nil, "", err
	}
	defer r.Close()
	t, log := newTable(d.Columns()), newLoadLog()
	for {
		_, err := r.Read(t, loadRows)
		if ended := context.Cause(ctx); ended != nil && !errors.Is(err, ended) {
			return nil, "", fmt.Errorf("dataset: load after %d rows: %w", t.Len(), ended)
		}
		if err == io.EOF {
			if t.Len() == 0 {
				why = whyEmpty(r)
			}
			log.done(t.Len())
			return t, why, nil
		}
		if err != nil {
			return nil, "", err
		}
		log.going(r, t.Len())
	}
}

// loadRows is how many rows Load reads between two looks at its context.
const loadRows = 4096

// with is d over another source.
func (d *Dataset) with(s Source) *Dataset {
	next := *d
	next.source = s
	return &next
}

// fail is d with an error, unless it has one already.
func (d *Dataset) fail(format string, args ...any) *Dataset {
	return d.failed(fmt.Errorf("%w "+format, append([]any{ErrOption}, args...)...))
}

// failed is d with an error as it stands there, unless it has one already.
func (d *Dataset) failed(err error) *Dataset {
	next := *d
	if next.err == nil {
		next.err = err
	}
	return &next
}
