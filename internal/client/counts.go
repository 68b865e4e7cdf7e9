package client

import (
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/wire"
)

// counts is what became of a worker's pushes.
type counts struct {
	steps, rows, doubled, dropped, notFinite atomic.Int64
	pushes, stale, mostStale                 atomic.Int64
}

// note takes what a server's answer says of a push whose gradients were computed on weights of version from, 0 if unknown.
func (n *counts) note(f *wire.Frame, r *request, from uint64) {
	if r.samples == 0 {
		return
	}
	o := f.Outcome()
	n.rows.Add(int64(o.Applied))
	n.dropped.Add(int64(o.Dropped))
	if o.Again {
		n.doubled.Add(1)
	}
	if from > 0 && o.On >= from {
		n.noteStale(int64(o.On - from))
	}
}

// noteStale takes note of a push that came so many updates after its pull.
func (n *counts) noteStale(updates int64) {
	n.pushes.Add(1)
	n.stale.Add(updates)
	for most := n.mostStale.Load(); updates > most && !n.mostStale.CompareAndSwap(most, updates); most = n.mostStale.Load() {
	}
}

// Counts implements [backend.Trainer].
func (c *Client) Counts() backend.Counts {
	n := &c.counts
	return backend.Counts{Steps: n.steps.Load(), Rows: n.rows.Load(), Doubled: n.doubled.Load(), Dropped: n.dropped.Load(), NotFinite: n.notFinite.Load(),
		Pushes: n.pushes.Load(), Stale: n.stale.Load(), MostStale: n.mostStale.Load()}
}
