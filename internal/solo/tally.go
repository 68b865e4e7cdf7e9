package solo

import (
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/optimizer"
)

// Tally counts the gradients that a process without servers has computed, by what happened to them. Several sessions
// may use it.
type Tally struct {
	// Steps is the number of applied steps.
	Steps atomic.Int64
	// Rows is the number of embedding rows that were applied, Dropped of those that were not, because of their table's
	// Entry or MaxBytes.
	Rows, Dropped atomic.Int64
	// NotFinite is the number of rows and variables that were skipped or clipped.
	NotFinite atomic.Int64
}

// dropper is a session that counts the rows of its last step that the tables dropped. A session of package local is
// one.
type dropper interface{ Dropped() int }

// Applied counts a step that inner has applied, with rows rows of this process. It is called after the update, once for
// each step.
func (n *Tally) Applied(inner optimizer.Session, rows int) {
	dropped := 0
	if d, ok := inner.(dropper); ok {
		dropped = min(d.Dropped(), rows) // in a collective job rows of other processes were dropped too
	}
	n.Steps.Add(1)
	n.Rows.Add(int64(rows - dropped))
	n.Dropped.Add(int64(dropped))
}

// counts returns the present counts.
func (n *Tally) counts() backend.Counts {
	return backend.Counts{Steps: n.Steps.Load(), Rows: n.Rows.Load(), Dropped: n.Dropped.Load(),
		NotFinite: n.NotFinite.Load()}
}
