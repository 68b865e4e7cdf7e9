package fleet

import (
	"context"
	"errors"
	"iter"

	"github.com/gofleet/gofleet/optimizer/weights"
)

// Rows iterates over every row of an embedding that was ever trained or loaded, with its newest weights: server by
// server, in ascending order of ids on each, so a table may be larger than a worker's memory. Without servers, all ids
// are in ascending order. An error comes last, without a row. Rows does not hold up workers and is not a consistent
// snapshot: workers that train meanwhile may change rows that are still to come. For a consistent snapshot save a
// model. Package optimizer/weights writes rows to files, for example as text with weights.WriteText(w, f.Rows(ctx,
// "user")).
//
//	for row, err := range f.Rows(ctx, "user") {
//		if err != nil {
//			return err
//		}
//		index.Add(row.ID, row.W)
//	}
func (f *Fleet) Rows(ctx context.Context, name string) iter.Seq2[weights.Row, error] {
	return func(yield func(weights.Row, error) bool) {
		j, err := f.worker(ctx, "Rows")
		if err == nil {
			err = named("Rows", j.Backend.Rows(ctx, name, func(ids []uint64, w []float32) error {
				for i, id := range ids {
					dim := len(w) / len(ids)
					if !yield(weights.Row{ID: id, W: w[i*dim:][:dim]}, nil) {
						return errEnough
					}
				}
				return ctx.Err()
			}))
		}
		if err != nil && !errors.Is(err, errEnough) {
			yield(weights.Row{}, err)
		}
	}
}

// errEnough ends the iteration over rows.
var errEnough = errors.New("no more rows are wanted")
