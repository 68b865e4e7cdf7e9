package exchange

import (
	"sync"
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/count"
	"github.com/gofleet/gofleet/internal/wire"
)

// Tally counts the outcomes of a worker's pushes.
type Tally struct {
	Steps     atomic.Int64 // pushed, and acknowledged by every server with a part of them
	NotFinite atomic.Int64 // rows and variables with NaN or infinities, skipped or clipped

	rows, doubled, dropped   atomic.Int64
	pushes, stale, mostStale atomic.Int64

	once      sync.Once
	staleness *count.Histogram // by push
}

// IDSize counts ids of an embedding in frames, and their bytes.
type IDSize struct{ ids, bytes atomic.Int64 }

// Mean returns the mean bytes of an id; 0 before there was one.
func (s *IDSize) Mean() float64 { return float64(s.bytes.Load()) / float64(max(1, s.ids.Load())) }

// tally counts the n ids of an embedding that were added last to a server's frame.
func (x *Exchange) tally(s, e, n int) {
	if e < len(x.s.IDs) {
		x.s.IDs[e].ids.Add(int64(n))
		x.s.IDs[e].bytes.Add(int64(x.lanes[s].build.IDBytes()))
	}
}

// count counts the outcome of a push. Its gradients were computed on weights of version from, 0 if unknown.
func (n *Tally) count(o wire.Outcome, from uint64) {
	n.rows.Add(int64(o.Applied))
	n.dropped.Add(int64(o.Dropped))
	if o.Again {
		n.doubled.Add(1)
	}
	if updates, known := wire.Between(from, o.On); known && from > 0 {
		n.countStale(updates)
	}
}

// countStale counts a push that came so many updates after its pull.
func (n *Tally) countStale(updates int64) {
	n.histogram().Observe(updates)
	n.pushes.Add(1)
	n.stale.Add(updates)
	for most := n.mostStale.Load(); updates > most && !n.mostStale.CompareAndSwap(most,
		updates); most = n.mostStale.Load() {
	}
}

func (n *Tally) histogram() *count.Histogram {
	n.once.Do(func() { n.staleness = count.NewHistogram(0, 1, 2, 4, 8, 16, 32, 64, 128, 256) })
	return n.staleness
}

// Staleness returns the distribution of how many updates lay between pushes and their pulls.
func (n *Tally) Staleness() count.Distribution { return n.histogram().Read(1) }

// Counts returns the outcomes of all pushes so far.
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
