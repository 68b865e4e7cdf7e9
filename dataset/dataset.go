package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"

	local "github.com/gofleet/gofleet/internal/files"
)

// Dataset is a source of rows with the operations that turn them into batches. It is immutable: every method returns a
// new dataset, so one dataset may serve several loops at the same time.
//
// A wrong argument does not panic: [Dataset.Err] and the first batch return the error.
type Dataset struct {
	source   Source
	maps     []func(Batch) error
	epoch    int
	ahead    int
	dropLast bool
	// mayBeEmpty permits a pass without batches.
	mayBeEmpty bool
	err        error
}

// New makes a dataset of a source that is read sequentially.
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

// FromIndexed makes a dataset of a source with random access to its rows.
func FromIndexed(s Indexed) *Dataset { return New(newView(s)) }

// Columns describes the rows. [Dataset.Map] may change batches further.
func (d *Dataset) Columns() []Column { return d.source.Columns() }

// Len returns the number of rows of one pass and whether it is known; for files it isn't.
func (d *Dataset) Len() (rows int, known bool) {
	if v, ok := d.source.(*view); ok && d.err == nil {
		return v.len, true
	}
	return 0, false
}

// Err returns an error for the first wrong argument with which the dataset was built, or nil.
func (d *Dataset) Err() error { return d.err }

// Epoch sets the number of the pass, 0 by default. Shuffles depend only on it and on their seed, so any pass can be
// repeated. A Shuffle before a [Dataset.Split], Take or Skip depends on the epoch that was set at that point.
func (d *Dataset) Epoch(epoch int) *Dataset {
	next := *d
	next.epoch = epoch
	return &next
}

// DropLast leaves out the last batch if it would be short.
func (d *Dataset) DropLast() *Dataset {
	next := *d
	next.dropLast = true
	return &next
}

// Map calls f on every batch before it is yielded; f may change values in place and add or replace tensors. f gets
// complete batches, regardless of Map's position in the chain; several maps run in their order. With [Dataset.Prefetch]
// f runs on another goroutine than the loop.
func (d *Dataset) Map(f func(Batch) error) *Dataset {
	next := *d
	next.maps = append(d.maps[:len(d.maps):len(d.maps)], f)
	return &next
}

// Load reads all rows into memory, so that they can be shuffled and counted. Maps are kept, not applied. It ends with
// ctx as [Dataset.BatchesContext] does. Loading that takes more than two seconds logs its progress, unless
// FLEET_PROGRESS is off.
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

// Batch returns all rows of one pass as one batch, which belongs to the caller, for example to feed the rows of a
// request.
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

// read reads all rows of one pass. why is the reason if there are none.
func (d *Dataset) read(ctx context.Context) (rows *Table, why string, err error) {
	if d.err != nil {
		return nil, "", d.err
	}
	r, err := open(local.ToLoad(ctx), d.source, d.epoch)
	if err != nil {
		return nil, "", err
	}
	defer r.Close()
	t, log := newTable(d.Columns()), newLoadLog()
	for {
		n, err := r.Read(t, loadRows)
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
		if e, ok := r.(interface{ estimate() int }); ok {
			t.reserve(max(e.estimate()-n, 0))
		}
		log.going(r, t.Len())
	}
}

// loadRows is the number of rows that Load reads between two checks of its context.
const loadRows = 4096

// with returns d over another source.
func (d *Dataset) with(s Source) *Dataset {
	next := *d
	next.source = s
	return &next
}

// fail returns d with an error, unless it has one already.
func (d *Dataset) fail(format string, args ...any) *Dataset {
	return d.failed(fmt.Errorf("%w "+format, append([]any{ErrOption}, args...)...))
}

// failed returns d with this error, unless it has one already.
func (d *Dataset) failed(err error) *Dataset {
	next := *d
	if next.err == nil {
		next.err = err
	}
	return &next
}
