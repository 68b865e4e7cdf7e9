package fleet

import (
	"maps"
	"slices"
	"time"

	"github.com/gofleet/gofleet/fleet/stats"
	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/count"
	"github.com/gofleet/gofleet/internal/job"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/transport"
)

const hotRows = 10

// Stats returns the counters of this process. It visits the shards of every table one after the other, and may be
// called at any time.
func (f *Fleet) Stats() stats.Process {
	f.mu.Lock()
	j := f.job
	f.mu.Unlock()
	server, _ := f.hosted.now()
	s := stats.Process{Work: f.meter.read()}
	if j == nil {
		return s
	}
	s.Counts = counts(j)
	at := f.Position()
	s.Work.Epoch, s.Work.EpochExamples = at.Epoch, at.Samples
	if server != nil {
		s.Tables = tablesOf(server.Store())
		count.Fill(&s, server.Meter())
		for _, w := range server.Waits() {
			s.Server.Waits = append(s.Server.Waits, stats.Wait(w))
		}
		for _, m := range server.Members() {
			s.Server.Members = append(s.Server.Members, stats.Member(m))
		}
		s.Requests = requests(server.Meter().Took())
	}
	if h, ok := j.Backend.(backend.Holder); ok {
		s.Tables = tablesOf(h.Store())
	}
	if m, ok := j.Backend.(backend.Metered); ok {
		traffic := m.Traffic()
		s.Requests, s.Work.Open = requests(traffic.Took), traffic.Open
		s.Work.Staleness = stats.Histogram(traffic.Stale)
		for i, l := range traffic.Links {
			s.Links = append(s.Links, stats.Link{Server: i, Sent: l.Sent, Received: l.Received, Calls: l.Calls,
				Waited: l.Waited})
		}
	}
	if w, ok := j.Backend.(backend.Waiting); ok {
		for _, is := range w.Waits() {
			s.Server.Waits = append(s.Server.Waits, stats.Wait(is))
			s.Server.Waiting, s.Server.Waited = 1, time.Since(is.Since)
		}
	}
	if k, ok := j.Backend.(backend.Keeper); ok {
		if is := k.Kept(); is.Checkpoints > 0 {
			s.Server.Checkpoints, s.Server.CheckpointTook = is.Checkpoints, is.Took
			s.Server.CheckpointAge = time.Since(is.At)
		}
	}
	if m, ok := j.Transport.(transport.Metered); ok {
		s.Transport = m.Stats()
	}
	return s
}

// requests converts the durations of requests, by op.
func requests(took map[string]count.Distribution) (all []stats.Request) {
	for _, op := range slices.Sorted(maps.Keys(took)) {
		all = append(all, stats.Request{Op: op, Seconds: stats.Histogram(took[op])})
	}
	return all
}

func tablesOf(store *table.Store) []stats.Table {
	all := make([]stats.Table, len(store.Tables))
	for i, t := range store.Tables {
		st := t.Stats()
		all[i] = stats.Table{Name: t.Param().Name, Rows: st.Rows, Free: st.Free, Waiting: st.Waiting, Bytes: st.Bytes,
			MaxBytes: st.MaxBytes,
			Load:     st.Load, KeptOut: st.KeptOut, TurnedAway: st.TurnedAway, Dropped: st.Dropped,
			Born: st.Born, Reads: stats.Histogram(st.Reads), Pushes: stats.Histogram(st.Pushes)}
		rows, gradients := t.Norms()
		all[i].Norms, all[i].Gradients = stats.Norms(rows), stats.Norms(gradients)
		for _, h := range t.Hot(hotRows) {
			all[i].Hot = append(all[i].Hot, stats.HotRow(h))
		}
	}
	return all
}

// counts counts the outcomes of this worker's gradients so far; zero on a server.
func counts(j *job.Job) stats.Counts {
	if j.Backend == nil {
		return stats.Counts{}
	}
	return stats.Counts(j.Backend.Counts())
}
