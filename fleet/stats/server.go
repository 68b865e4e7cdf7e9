package stats

import (
	"log/slog"
	"slices"
	"time"

	"github.com/gofleet/gofleet/internal/count"
)

// Server is the state of a job, as one of its servers sees it. A worker of a job without servers has its own waits and
// checkpoints here.
type Server struct {
	// Absent workers have not joined yet, Here are in the job, Left have stopped, Dead were lost.
	Absent int `count:"absent"`
	Here   int `count:"here"`
	Left   int `count:"left"`
	Dead   int `count:"dead"`
	// Members has all workers of the job, by index.
	Members []Member
	// Round is the open round: in sync and ssp within the Phase, the number of epochs that all workers have ended; in
	// geo the mean number of exchanges per worker. Other modes have none.
	Phase int `count:"phase"`
	Round int `count:"round"`
	// Holding is 1 while a checkpoint, or another cut through all servers, holds pushes.
	Holding int `count:"holding"`
	// Waiting is the number of requests that have waited for over a second, the oldest of them for Waited. Waits says
	// for what.
	Waiting int           `count:"waits"`
	Waited  time.Duration `count:"oldest_wait"`
	Waits   []Wait
	// ReadRows is the number of rows sent to readers outside the job, and RefusedReads the number of their requests
	// that were refused, most of them over the rate limit.
	ReadRows     int64 `count:"read_rows"`
	RefusedReads int64 `count:"refused_reads"`
	// Returned is the number of restarts of workers. Life is how often this server has restarted from its journal.
	Returned int `count:"returned"`
	Life     int `count:"life"`
	// Journal is the size of the journal's last segment, in bytes.
	Journal int64 `count:"journal"`
	// CheckpointAge is the time since the last automatic checkpoint was complete; 0 if this process has seen none. Only
	// server 0 has it, and without servers the worker that saves.
	CheckpointAge time.Duration `count:"checkpoint_age"`
	// Checkpoints is the number of automatic checkpoints completed since that process started; the last took
	// CheckpointTook.
	Checkpoints    int           `count:"checkpoints"`
	CheckpointTook time.Duration `count:"checkpoint_took"`
}

// Member is the state of a worker of the job, as known to this server.
type Member struct {
	Worker int
	// State is "absent" (has not joined yet), "here", "expected back" (was asked to end or was killed, and may be
	// restarted), "left" (has stopped) or "dead".
	State string
	// Life is how often the worker's process has joined, 1 for the first.
	Life int
	// Since is when a worker that is here joined, and otherwise when this server last heard of it; zero if it is
	// absent. On a restarted server it is no earlier than the restart.
	Since time.Time
}

// Awaited is a worker for which requests wait, and how long the oldest has waited.
type Awaited struct {
	Worker int
	Waited time.Duration `name:"server_awaited_seconds" help:"How long requests wait for a worker."`
}

// Awaited returns the workers for which requests have waited for over a second, first those that hold up the oldest
// requests; if there are many, only the first few.
func (s Server) Awaited() (all []Awaited) {
	for _, w := range s.Waits {
		for _, worker := range w.Workers {
			known := slices.ContainsFunc(all, func(a Awaited) bool { return a.Worker == worker })
			if !known && len(all) < mostAwaited {
				all = append(all, Awaited{worker, time.Since(w.Since)})
			}
		}
	}
	return all
}

// mostAwaited bounds what a page of metrics has of a job in which most workers are waited for.
const mostAwaited = 16

// Wait is a request that waits at a server: why, since when, and for which workers, if any.
type Wait struct {
	Why     string
	Workers []int
	Since   time.Time
}

// LogValue implements [slog.LogValuer].
func (s Server) LogValue() slog.Value {
	attrs := count.Attrs(s)
	if len(s.Waits) > 0 {
		attrs = append(attrs, slog.String("why", s.Waits[0].Why))
	}
	return slog.GroupValue(attrs...)
}
