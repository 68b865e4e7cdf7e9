package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
)

// Batches cuts one pass over the rows into batches of size rows; the last may be shorter ([Dataset.DropLast]).
//
// The loop may use a batch until two more have been yielded; then its memory is reused, so copy what must live longer.
// After an error nothing more is yielded. The loop may break at any time. Ranging over the sequence again is another
// pass, in the same order unless [Dataset.Epoch] changes it. A pass without a batch yields [ErrNoRows], unless
// [Dataset.MayBeEmpty] is set.
func (d *Dataset) Batches(size int) iter.Seq2[Batch, error] {
	return d.BatchesContext(context.Background(), size)
}

// BatchesContext is [Dataset.Batches] with a context. When ctx ends, the pass ends with an error that wraps the cause,
// even while it waits for a file that is a pipe, for a pipe command, or for your own [Source].
func (d *Dataset) BatchesContext(ctx context.Context, size int) iter.Seq2[Batch, error] {
	if size < 1 {
		d = d.fail("Batches(%d): want 1 row or more in a batch", size)
	}
	return func(yield func(Batch, error) bool) {
		if d.err != nil {
			yield(nil, d.err)
			return
		}
		ctx, cancel := context.WithCancel(ctx) // a loop that breaks does not wait for data
		defer cancel()
		p := &pass{Dataset: d, size: size, ctx: ctx}
		var err error
		if p.reader, err = open(ctx, d.source, d.epoch); err != nil {
			yield(nil, err)
			return
		}
		defer p.reader.Close()
		if d.ahead > 0 {
			p.runAhead(cancel, yield)
		} else {
			p.run(yield)
		}
	}
}

// pass is one iteration over batches.
type pass struct {
	*Dataset
	ctx    context.Context
	reader Reader
	size   int
	made   int // batches so far
}

func (p *pass) newSlot() *slot { return newSlot(p.Columns(), p.size) }

// run makes the batches one at a time, as the loop asks for them.
func (p *pass) run(yield func(Batch, error) bool) {
	var ring [held]*slot
	for i := 0; ; i++ {
		if ring[i%held] == nil {
			ring[i%held] = p.newSlot()
		}
		batch, err := p.fill(ring[i%held])
		if err == io.EOF || !yield(batch, err) || err != nil {
			return
		}
	}
}

// ended returns an error with the progress of the pass if its context has ended.
func (p *pass) ended(batches int) error {
	if p.ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("dataset: after %d batches: %w", batches, context.Cause(p.ctx))
}

// atOnce is the most rows that are read before the context is asked again: rows may take long to make.
const atOnce = 64

// fill makes the next batch in s; it returns io.EOF after the last one.
func (p *pass) fill(s *slot) (Batch, error) {
	s.table.Reset()
	for s.table.Len() < p.size {
		if err := p.ended(p.made); err != nil {
			return nil, err
		}
		_, err := p.reader.Read(s.table, min(p.size-s.table.Len(), atOnce))
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if s.table.Len() == 0 || p.dropLast && s.table.Len() < p.size {
		if p.made == 0 && !p.mayBeEmpty {
			return nil, p.noRows(s.table.Len())
		}
		return nil, io.EOF
	}
	p.made++
	return s.bindMapped(p.maps)
}
