package fleet

import (
	"github.com/gofleet/gofleet/fleet/stats"
	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/count"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/transport"
)

const hotRows = 10

// Stats is what this process has counted so far. It looks at every shard of every table, one after the other, and may
// be called at any time.
func (f *Fleet) Stats() stats.Process {
	f.mu.Lock()
	j, server := f.job, f.server
	f.mu.Unlock()
	s := stats.Process{Counts: f.counts()}
	if j == nil {
		return s
	}
	if server != nil {
		s.Tables = tablesOf(server.Store())
		count.Fill(&s, server.Meter())
		for _, w := range server.Waits() {
			s.Server.Waits = append(s.Server.Waits, stats.Wait(w))
		}
	}
	if h, ok := j.backend.(backend.Holder); ok {
		s.Tables = tablesOf(h.Store())
	}
	if m, ok := j.transport.(transport.Metered); ok {
		s.Transport = m.Stats()
	}
	return s
}

func tablesOf(store *table.Store) []stats.Table {
	all := make([]stats.Table, len(store.Tables))
	for i, t := range store.Tables {
		st := t.Stats()
		all[i] = stats.Table{Name: t.Param().Name, Rows: st.Rows, Free: st.Free, Waiting: st.Waiting, Bytes: st.Bytes,
			MaxBytes: st.MaxBytes,
			Load:     st.Load, KeptOut: st.KeptOut, TurnedAway: st.TurnedAway, Dropped: st.Dropped}
		for _, h := range t.Hot(hotRows) {
			all[i].Hot = append(all[i].Hot, stats.HotRow(h))
		}
	}
	return all
}

// counts is what became of this worker's gradients so far: zero on a server and before InitWorker.
func (f *Fleet) counts() stats.Counts {
	f.mu.Lock()
	j := f.job
	f.mu.Unlock()
	if j == nil || j.backend == nil {
		return stats.Counts{}
	}
	return stats.Counts(j.backend.Counts())
}
