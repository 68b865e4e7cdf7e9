package solo

import (
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/optimizer"
)

// Tally counts what became of the gradients that a process without servers has computed itself. It may be used by
// several sessions.
type Tally struct {
	// Steps were applied.
	Steps atomic.Int64
	// Rows of embeddings were applied; Dropped ones were not, because of their table's Entry or MaxBytes.
	Rows, Dropped atomic.Int64
	// NotFinite rows and variables were skipped or clipped.
	NotFinite atomic.Int64
}

// dropper is a session that knows how many rows of its last step the tables dropped. A session of package local
// is one.
type dropper interface{ Dropped() int }

// Applied counts a step that inner has applied, to which this process had so many rows. It is called behind the update,
// once for each step.
func (n *Tally) Applied(inner optimizer.Session, rows int) {
	dropped := 0
	if d, ok := inner.(dropper); ok {
		dropped = min(d.Dropped(), rows) // in a collective job rows of others were dropped too
	}
	n.Steps.Add(1)
	n.Rows.Add(int64(rows - dropped))
	n.Dropped.Add(int64(dropped))
}

// counts are as they stand.
func (n *Tally) counts() backend.Counts {
	return backend.Counts{Steps: n.Steps.Load(), Rows: n.Rows.Load(), Dropped: n.Dropped.Load(),
		NotFinite: n.NotFinite.Load()}
}
