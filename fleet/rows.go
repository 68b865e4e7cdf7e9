package fleet

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/gofleet/gofleet/optimizer/weights"
)

// Rows iterates over every row of an embedding that was ever trained or loaded, with its newest weights: server by
// server, in ascending order of ids on each, so a table may be larger than a worker's memory. Without servers, all ids
// are in ascending order. An error comes last, without a row. Rows does not hold up workers and is not a consistent
// snapshot: workers that train meanwhile may change rows that are still to come. For a consistent snapshot save a
// model.
//
//	for row, err := range f.Rows(ctx, "user") {
//		if err != nil {
//			return err
//		}
//		index.Add(row.ID, row.W)
//	}
func (f *Fleet) Rows(ctx context.Context, name string) iter.Seq2[weights.Row, error] {
	return func(yield func(weights.Row, error) bool) {
		err := f.eachRow(ctx, "Rows", name, func(r weights.Row) error {
			if !yield(r, nil) {
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(weights.Row{}, err)
		}
	}
}

// errEnough ends a walk over rows.
var errEnough = errors.New("no more rows are wanted")

// ExportText writes an embedding as text, a line for each row in the order of [Fleet.Rows]: the id, a tab, and the
// weights with commas between them, each in as few digits as it takes to read it back exactly. Like Rows, it is not a
// consistent snapshot. Package optimizer/weights reads this format, and writes Rows in others.
//
//	42	0.25,-1.5e-05,3
func (f *Fleet) ExportText(ctx context.Context, name string, w io.Writer) error {
	out := bufio.NewWriterSize(w, 1<<16)
	var line []byte
	err := f.eachRow(ctx, "ExportText", name, func(r weights.Row) error {
		line, _ = r.AppendText(line[:0])
		_, err := out.Write(append(line, '\n'))
		return err
	})
	if err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("fleet: ExportText: %w", err)
	}
	return nil
}

// eachRow calls do with every row, until it fails.
func (f *Fleet) eachRow(ctx context.Context, call, name string, do func(weights.Row) error) error {
	j, err := f.worker(ctx, call)
	if err != nil {
		return err
	}
	return named(call, j.backend.Rows(ctx, name, func(ids []uint64, w []float32) error {
		for i, id := range ids {
			dim := len(w) / len(ids)
			if err := do(weights.Row{ID: id, W: w[i*dim:][:dim]}); err != nil {
				return err
			}
		}
		return ctx.Err()
	}))
}
