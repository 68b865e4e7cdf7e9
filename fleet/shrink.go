package fleet

import (
	"context"

	"github.com/gofleet/gofleet/internal/table"
)

// ShrinkOptions say which rows of embeddings a model can do without at the end of a period. First shows and clicks
// decay, then rows are dropped whose score is low or which have not been used for long. Each zero field does nothing.
type ShrinkOptions struct {
	// Decay multiplies the shows and clicks of every row, and of every id that waits for one, in tables with ShowClick;
	// between 0 and 1.
	Decay float64
	// MinScore drops rows of tables with ShowClick whose score is below it.
	MinScore float64
	// Unseen drops rows of any table that no push has touched, and in a process alone no training read, for so many
	// periods, the one that ends counted in: 1 drops what that period did not use. It forgets ids that wait for a row
	// and were not pushed for so long.
	Unseen uint32
}

// Shrunk is what was dropped of one table.
type Shrunk struct {
	Rows    int // their memory is the next rows'
	Waiting int // ids that waited for a row
}

// Shrink ends a period and drops rows that are not needed, on all servers at one point between steps; it returns what
// was dropped, by name of the embedding. A period is what lies between two calls, be it a day, an hour or an epoch:
// every row remembers in which it was used last. A dropped row is forgotten whole, also one that was given or loaded;
// its id begins anew when it is met again.
//
// Any worker may call it. When several do, in the same way, behind the same BarrierWorker and with no update of their
// own between, one acts and all are told; a worker that calls again, or behind another barrier, ends another period. In
// a collective job every worker must call it, and all wait for each other.
//
// In mode geo servers drop what no exchange has brought for so many periods, and each worker's copy loses it: that of
// the worker which calls at once, others with their next exchange, which then brings all rows of the table. What
// another worker has trained and not sent yet is not lost: it counts in the period that begins. So call it behind a
// barrier there.
func (f *Fleet) Shrink(ctx context.Context, o ShrinkOptions) (map[string]Shrunk, error) {
	j, err := f.worker(ctx, "Shrink")
	if err != nil {
		return nil, err
	}
	shrink := table.Shrink(o)
	if err := shrink.Check(j.layout.Params); err != nil {
		return nil, named("Shrink", err)
	}
	freed, err := j.backend.Shrink(ctx, shrink)
	if err != nil {
		return nil, named("Shrink", err)
	}
	all := map[string]Shrunk{}
	for i, e := range j.layout.Embeddings {
		all[e.Name] = Shrunk(freed[i])
	}
	return all, nil
}
