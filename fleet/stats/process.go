package stats

import (
	"log/slog"

	"github.com/gofleet/gofleet/internal/count"
	"github.com/gofleet/gofleet/transport"
)

// Process are what a process has counted so far; what its role does not have is zero. As a value of slog they show what
// is not zero:
//
//	slog.Info("so far", "stats", f.Stats())
type Process struct {
	// Tables are the embeddings whose rows this process keeps: a server its share of each, one without servers all of
	// them.
	Tables []Table
	// Counts is what became of a worker's pushes.
	Counts Counts
	// Work is what a worker does with its time and its data.
	Work Work
	// Requests are a worker's own, and the ones that a server has answered, by op. Links are a worker's to each server.
	Requests []Request
	Links    []Link
	// Training is what a program shows of it, nil if it shows nothing.
	Training *Training
	// Refused requests were answered by this server with an error that sending them again would not have cured.
	Refused int64 `count:"refused"`
	// Server is how the job stands, as this server sees it.
	Server Server
	// Transport has calls, bytes, failures and whom the listener turned away. Fleets that share a transport share
	// these.
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
