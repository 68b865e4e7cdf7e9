package fleet

import (
	"fmt"
	"log/slog"
)

// IsWorker says whether this process trains; a process alone does.
func (f *Fleet) IsWorker() bool { return f.id.IsWorker() }

// IsServer says whether this process is a server, which keeps parameters for workers.
func (f *Fleet) IsServer() bool { return f.id.IsServer() }

// IsFirstWorker says whether this is worker 0.
func (f *Fleet) IsFirstWorker() bool { return f.id.IsFirstWorker() }

// WorkerIndex returns this worker's number, from 0; -1 on a server.
func (f *Fleet) WorkerIndex() int {
	if !f.IsWorker() {
		return -1
	}
	return f.id.Index
}

// ServerIndex returns this server's number, from 0; -1 on a worker.
func (f *Fleet) ServerIndex() int {
	if !f.IsServer() {
		return -1
	}
	return f.id.Index
}

// WorkerNum returns the number of workers.
func (f *Fleet) WorkerNum() int { return f.id.Workers }

// ServerNum returns the number of servers: 0 in a collective job, whose workers train without servers, and when this
// process trains alone, as the only worker.
func (f *Fleet) ServerNum() int { return len(f.id.Servers) }

// ServerEndpoints returns the addresses of all servers, by index.
func (f *Fleet) ServerEndpoints() []string { return append([]string(nil), f.id.Servers...) }

// WorkerEndpoints returns the addresses of all workers, if the environment names them; jobs with servers don't need
// them.
func (f *Fleet) WorkerEndpoints() []string { return append([]string(nil), f.id.WorkerEndpoints...) }

// String names the role: "worker 1 of 2".
func (f *Fleet) String() string {
	switch {
	case f.id.Local():
		return "local worker"
	case f.IsServer():
		return fmt.Sprintf("server %d of %d", f.id.Index, len(f.id.Servers))
	}
	return fmt.Sprintf("worker %d of %d", f.id.Index, f.id.Workers)
}

// LogValue implements [slog.LogValuer]: role ("server" or "worker") and index.
func (f *Fleet) LogValue() slog.Value {
	return slog.GroupValue(slog.String("role", f.kind()), slog.Int("index", f.id.Index))
}

func (f *Fleet) kind() string {
	if f.IsServer() {
		return "server"
	}
	return "worker"
}
