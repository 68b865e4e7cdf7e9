package stats

import (
	"log/slog"

	"github.com/gofleet/gofleet/internal/count"
	"github.com/gofleet/gofleet/transport"
)

// Process has the counters of a process; those that its role does not have are zero. Logged with slog, it shows the
// values that are not zero:
//
//	slog.Info("so far", "stats", f.Stats())
type Process struct {
	// Tables are the embeddings whose rows this process keeps: a server its share of each, one without servers all of
	// them.
	Tables []Table
	// Counts says what happened to a worker's pushes.
	Counts Counts
	// Work is a worker's use of time and data.
	Work Work
	// Requests are those made by a worker, or answered by a server, by op. Links are a worker's traffic with each
	// server.
	Requests []Request
	Links    []Link
	// Refused is the number of requests that this server answered with a permanent error.
	Refused int64 `count:"refused"`
	// Server is the state of the job, as this server sees it.
	Server Server
	// Transport has calls, bytes, failures and the connections that the listener refused. Fleets that share a transport
	// share these.
	Transport transport.Stats
}

// LogValue implements [slog.LogValuer].
func (s Process) LogValue() slog.Value {
	attrs := count.Attrs(s.Counts)
	if s.Refused != 0 {
		attrs = append(attrs, slog.Int64("refused", s.Refused))
	}
	for _, t := range s.Tables {
		attrs = append(attrs, slog.Any(t.Name, t))
	}
	return slog.GroupValue(append(attrs, slog.Any("server", s.Server), slog.Any("transport", s.Transport))...)
}
