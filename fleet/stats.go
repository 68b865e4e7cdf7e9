package fleet

import (
	"log/slog"
	"time"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/count"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/transport"
)

// Stats are what a process has counted so far; what its role does not have is zero. As a value of slog they show what
// is not zero:
//
//	slog.Info("so far", "stats", f.Stats())
type Stats struct {
	// Tables are the embeddings whose rows this process keeps: a server its share of each, one without servers all of
	// them.
	Tables []TableStats
	// Counts is what became of a worker's pushes.
	Counts Counts
	// Refused requests were answered by this server with an error that sending them again would not have cured.
	Refused int64 `count:"refused"`
	// Server is how the job stands, as this server sees it.
	Server ServerStats
	// Transport has calls, bytes, failures and whom the listener turned away. Fleets that share a transport share
	// these.
	Transport transport.Stats
}

// ServerStats are how a job stands, as one of its servers sees it.
type ServerStats struct {
	// Absent workers have not joined yet, Here are in the job, Left have stopped, Dead were lost.
	Absent int `count:"absent"`
	Here   int `count:"here"`
	Left   int `count:"left"`
	Dead   int `count:"dead"`
	// Round is the one that is open: in sync and ssp that of the Phase, which counts the epochs that all workers have
	// ended; in geo as many as each worker has made exchanges, on average. Other modes have none.
	Phase int `count:"phase"`
	Round int `count:"round"`
	// Holding is 1 while a checkpoint, or another cut through all servers, holds pushes.
	Holding int `count:"holding"`
	// Waiting requests have waited for over a second, the oldest of them for Waited. Waits has what for.
	Waiting int           `count:"waits"`
	Waited  time.Duration `count:"oldest_wait"`
	Waits   []Wait
	// Journal is the size of the journal's last segment, in bytes.
	Journal int64 `count:"journal"`
	// CheckpointAge is how long ago a checkpoint of the job's own was whole; 0 where this process has seen none. Server
	// 0 has it.
	CheckpointAge time.Duration `count:"checkpoint_age"`
}

// Wait is a request that waits at a server: why, for which workers, if it is for some, and since when.
type Wait struct {
	Why     string
	Workers []int
	Since   time.Time
}

// LogValue implements [slog.LogValuer].
func (s ServerStats) LogValue() slog.Value {
	attrs := count.Attrs(s)
	if len(s.Waits) > 0 {
		attrs = append(attrs, slog.String("why", s.Waits[0].Why))
	}
	return slog.GroupValue(attrs...)
}

// TableStats are the size of an embedding's table, and what it turned away.
type TableStats struct {
	Name string
	// Rows are in use, Free ones were dropped and their memory is not used again yet, Waiting ids have no row so far.
	Rows    int `count:"rows"`
	Free    int `count:"free"`
	Waiting int `count:"waiting"`
	// Bytes are what rows, index and waiting ids take; MaxBytes is their bound, 0 if there is none.
	Bytes    int `count:"bytes"`
	MaxBytes int `count:"max_bytes"`
	// Load is the part of the index that is used.
	Load float64
	// KeptOut and TurnedAway are gradients that were dropped, because the Entry kept their ids out, and because of
	// MaxBytes. Dropped are rows that Shrink dropped.
	KeptOut    uint64 `count:"kept_out"`
	TurnedAway uint64 `count:"turned_away"`
	Dropped    uint64 `count:"dropped"`
	// Hot are the rows that were pushed most, the most pushed first; at most ten, none that was pushed less than 16
	// times.
	Hot []HotRow
}

// HotRow is a row that is pushed often.
type HotRow struct {
	ID      uint64
	Updates uint32
}

const hotRows = 10

// Stats is what this process has counted so far. It looks at every shard of every table, one after the other, and may
// be called at any time.
func (f *Fleet) Stats() Stats {
	f.mu.Lock()
	j, server := f.job, f.server
	f.mu.Unlock()
	s := Stats{Counts: f.Counts()}
	if j == nil {
		return s
	}
	if server != nil {
		s.Tables = tablesOf(server.Store())
		count.Fill(&s, server.Meter())
		for _, w := range server.Waits() {
			s.Server.Waits = append(s.Server.Waits, Wait(w))
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

func tablesOf(store *table.Store) []TableStats {
	all := make([]TableStats, len(store.Tables))
	for i, t := range store.Tables {
		st := t.Stats()
		all[i] = TableStats{Name: t.Param().Name, Rows: st.Rows, Free: st.Free, Waiting: st.Waiting, Bytes: st.Bytes,
			MaxBytes: st.MaxBytes,
			Load:     st.Load, KeptOut: st.KeptOut, TurnedAway: st.TurnedAway, Dropped: st.Dropped}
		for _, h := range t.Hot(hotRows) {
			all[i].Hot = append(all[i].Hot, HotRow(h))
		}
	}
	return all
}

// LogValue implements [slog.LogValuer].
func (s Stats) LogValue() slog.Value {
	attrs := count.Attrs(s.Counts)
	if s.Refused != 0 {
		attrs = append(attrs, slog.Int64("refused", s.Refused))
	}
	for _, t := range s.Tables {
		attrs = append(attrs, slog.Any(t.Name, t))
	}
	return slog.GroupValue(append(attrs, slog.Any("server", s.Server), slog.Any("transport", s.Transport))...)
}

// LogValue implements [slog.LogValuer].
func (t TableStats) LogValue() slog.Value {
	attrs := count.Attrs(t)
	if len(t.Hot) > 0 {
		attrs = append(attrs, slog.Uint64("hottest", t.Hot[0].ID))
	}
	return slog.GroupValue(attrs...)
}
