package exchange

import (
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/wire"
)

// Tally is what became of a worker's pushes.
type Tally struct {
	Steps     atomic.Int64 // pushed, and acknowledged by every server that had a part of them
	NotFinite atomic.Int64 // rows and variables that held NaN or infinities, skipped or clipped

	rows, doubled, dropped   atomic.Int64
	pushes, stale, mostStale atomic.Int64
}

// note counts the outcome of a push whose gradients were computed on weights of version from, 0 if unknown.
func (n *Tally) note(o wire.Outcome, from uint64) {
	n.rows.Add(int64(o.Applied))
	n.dropped.Add(int64(o.Dropped))
	if o.Again {
		n.doubled.Add(1)
	}
	if updates, known := wire.Between(from, o.On); known && from > 0 {
		n.noteStale(updates)
	}
}

// noteStale takes note of a push that came so many updates after its pull.
func (n *Tally) noteStale(updates int64) {
	n.pushes.Add(1)
	n.stale.Add(updates)
	for most := n.mostStale.Load(); updates > most && !n.mostStale.CompareAndSwap(most,
		updates); most = n.mostStale.Load() {
	}
}

// Counts is what became of the pushes so far.
func (n *Tally) Counts() backend.Counts {
	return backend.Counts{
		Steps:     n.Steps.Load(),
		Rows:      n.rows.Load(),
		Doubled:   n.doubled.Load(),
		Dropped:   n.dropped.Load(),
		NotFinite: n.NotFinite.Load(),
		Pushes:    n.pushes.Load(),
		Stale:     n.stale.Load(),
		MostStale: n.mostStale.Load(),
	}
}
