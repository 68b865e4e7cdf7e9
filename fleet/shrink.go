package fleet

import (
	"context"
	"fmt"

	"github.com/gofleet/gofleet/fleet/stats"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/table"
)

// ShrinkOptions say which embedding rows to drop at the end of a period. First shows and clicks decay; then rows with a
// low score and rows that have long been unused are dropped. A zero field does nothing.
type ShrinkOptions struct {
	// Decay, between 0 and 1, multiplies the shows and clicks of every row, and of every id that has no row yet, in
	// tables with ShowClick.
	Decay float64
	// MinScore drops rows of tables with ShowClick whose score is below it.
	MinScore float64
	// Unseen drops rows of any table that no push (in a process alone, also no training read) has touched for that many
	// periods, including the one that ends: 1 drops rows that the ending period did not use. It also forgets ids that
	// have no row yet and were not pushed for as long.
	Unseen uint32
	// Period is the name of the period that ends, such as a date. A period that has ended under its name does not end
	// again: Shrink then returns what was dropped. The job's last 1,024 names are in its checkpoints and journals; a
	// name with other options than before is an error. "" ends a period with each call.
	Period string
}

// of returns the options without the name, and the deed that the name stands for.
func (o ShrinkOptions) of() (table.Shrink, *progress.Deed) {
	s := table.Shrink{Decay: o.Decay, MinScore: o.MinScore, Unseen: o.Unseen}
	if o.Period == "" {
		return s, new(progress.Deed)
	}
	return s, &progress.Deed{Name: fmt.Sprintf("period %q", o.Period), What: fmt.Sprintf("Decay %v, MinScore %v, "+
		"Unseen %d", o.Decay, o.MinScore, o.Unseen)}
}

// Shrink ends a period and drops rows that are not needed, on all servers at one point between steps. It returns what
// was dropped, by name of the embedding. A period is the time between two calls, such as a day, an hour or an epoch;
// every row records the period in which it was last used. A dropped row is forgotten completely, even if its values
// were given or loaded; its id starts from the beginning when it is used again.
//
// Any worker may call it. If several workers call it with the same options after the same BarrierWorker, without an
// update of their own in between, one acts and all get its result. A second call of the same worker, or a call after
// another barrier, ends another period. In a collective job every worker must call it, and all wait for each other.
//
// In mode geo servers drop rows that no exchange has brought for the given number of periods, and each worker drops
// them from its copy: the calling worker at once, others with their next exchange, which then brings all rows of the
// table. Changes that another worker has not sent yet are not lost, but count in the new period; so call Shrink after a
// barrier in geo.
func (f *Fleet) Shrink(ctx context.Context, o ShrinkOptions) (map[string]stats.Shrunk, error) {
	j, err := f.worker(ctx, "Shrink")
	if err != nil {
		return nil, err
	}
	shrink, as := o.of()
	if err := shrink.Check(j.Layout.Params); err != nil {
		return nil, named("Shrink", err)
	}
	freed, err := j.Backend.Shrink(ctx, shrink, as)
	if err != nil {
		return nil, named("Shrink", err)
	}
	all := map[string]stats.Shrunk{}
	for i, e := range j.Layout.Embeddings {
		all[e.Name] = stats.Shrunk(freed[i])
	}
	return all, nil
}
