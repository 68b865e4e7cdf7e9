package stats

import (
	"log/slog"
	"slices"
	"time"

	"github.com/gofleet/gofleet/internal/count"
)

// Server are how a job stands, as one of its servers sees it.
type Server struct {
	// Absent workers have not joined yet, Here are in the job, Left have stopped, Dead were lost.
	Absent int `count:"absent"`
	Here   int `count:"here"`
	Left   int `count:"left"`
	Dead   int `count:"dead"`
	// Members has all workers of the job, by index.
	Members []Member
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
	// ReadRows is how many rows readers outside the job were sent, and RefusedReads how many requests of theirs were
	// refused, most since they had read enough for a while.
	ReadRows     int64 `count:"read_rows"`
	RefusedReads int64 `count:"refused_reads"`
	// Returned workers were started again, each as often as it was. Life is how often this server came back from its
	// journal.
	Returned int `count:"returned"`
	Life     int `count:"life"`
	// Journal is the size of the journal's last segment, in bytes.
	Journal int64 `count:"journal"`
	// CheckpointAge is how long ago a checkpoint of the job's own was whole; 0 where this process has seen none. Server
	// 0 has it.
	CheckpointAge time.Duration `count:"checkpoint_age"`
	// Checkpoints of the job's own have become whole since server 0 began; the last took CheckpointTook.
	Checkpoints    int           `count:"checkpoints"`
	CheckpointTook time.Duration `count:"checkpoint_took"`
}

// Member is how a worker of the job stands, as this server knows it.
type Member struct {
	Worker int
	// State is absent for one that has not joined yet, here, expected back for one that was asked to end or was killed
	// and may be started again, left for one that has stopped, or dead.
	State string
	// Life is how often its process has joined, 1 for the first.
	Life int
	// Since is when the life of one that is here has joined, and when this server heard of another last; zero of one
	// that is absent. A server that was started again counts from then.
	Since time.Time
}

// Awaited is a worker for which requests wait, the oldest of them for so long.
type Awaited struct {
	Worker int
	Waited time.Duration `name:"server_awaited_seconds" help:"How long requests wait for a worker."`
}

// Awaited are workers for which requests have waited for over a second, those that hold up the oldest first; of many
// the first few.
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

// Wait is a request that waits at a server: why, for which workers, if it is for some, and since when.
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
