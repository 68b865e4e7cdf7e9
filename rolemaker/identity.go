package rolemaker

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Identity is the role of a process in its job.
type Identity struct {
	// Role is what the process does.
	Role Role
	// Index is its number within its role, from 0.
	Index int
	// Workers is how many workers the job has.
	Workers int
	// Servers are the endpoints of all servers, "host:port" or "unix:/path", by server index. It is empty if the
	// process is alone.
	Servers []string
	// WorkerEndpoints are the endpoints of all workers, or empty: only workers of collective jobs need them.
	WorkerEndpoints []string
	// Collective says that there are no servers, and workers sum gradients among themselves, at WorkerEndpoints.
	Collective bool
}

// Local reports whether this process trains alone, without other processes.
func (id Identity) Local() bool { return len(id.Servers) == 0 && !id.amongWorkers() }

// amongWorkers reports whether there are other workers of a collective job.
func (id Identity) amongWorkers() bool { return id.Collective && id.Workers > 1 }

// IsWorker reports whether the process is a worker, which computes gradients.
func (id Identity) IsWorker() bool { return id.Role == Worker }

// IsServer reports whether the process is a server, which keeps parameters.
func (id Identity) IsServer() bool { return id.Role == Server }

// IsFirstWorker reports whether the process is worker 0, which acts where one worker must act for all.
func (id Identity) IsFirstWorker() bool { return id.IsWorker() && id.Index == 0 }

// Endpoint returns the endpoint of this process, "" if it has none.
func (id Identity) Endpoint() string {
	list := id.WorkerEndpoints
	if id.IsServer() {
		list = id.Servers
	}
	if id.Index < 0 || id.Index >= len(list) {
		return ""
	}
	return list[id.Index]
}

// String is the identity for a log: "worker 1 of 2, servers 10.0.0.1:36000,10.0.0.2:36000".
func (id Identity) String() string {
	switch {
	case id.Local():
		return fmt.Sprintf("%v %d of %d, alone", id.Role, id.Index, id.Workers)
	case id.Collective:
		return fmt.Sprintf("%v %d of %d, collective: %s", id.Role, id.Index, id.Workers,
			strings.Join(id.WorkerEndpoints, ","))
	case id.IsServer():
		return fmt.Sprintf("server %d of %d at %s, %d workers", id.Index, len(id.Servers), id.Endpoint(), id.Workers)
	}
	return fmt.Sprintf("%v %d of %d, servers %s", id.Role, id.Index, id.Workers, strings.Join(id.Servers, ","))
}

// Validate returns an error that says what is wrong with the identity, or nil.
func (id Identity) Validate() error {
	switch {
	case id.Role != Worker && id.Role != Server:
		return fmt.Errorf("rolemaker: role is %v; it must be Worker or Server", id.Role)
	case id.Workers < 1:
		return fmt.Errorf("rolemaker: the number of workers is %d; it must be at least 1", id.Workers)
	case id.Collective && (id.IsServer() || len(id.Servers) > 0):
		return errors.New("rolemaker: a collective job has workers alone, no servers")
	case id.amongWorkers() && len(id.WorkerEndpoints) != id.Workers:
		return fmt.Errorf("rolemaker: %d worker endpoints for the %d workers of a collective job: %q",
			len(id.WorkerEndpoints), id.Workers, id.WorkerEndpoints)
	case id.Local() && (id.IsServer() || id.Workers > 1):
		return fmt.Errorf("rolemaker: a job of %d workers has no servers; name their endpoints", id.Workers)
	case id.Index < 0 || id.Index >= id.peers():
		return fmt.Errorf("rolemaker: index of this %v is %d; want 0 to %d", id.Role, id.Index, id.peers()-1)
	case len(id.WorkerEndpoints) != 0 && len(id.WorkerEndpoints) != id.Workers:
		return fmt.Errorf("rolemaker: %d worker endpoints for %d workers: %q", len(id.WorkerEndpoints), id.Workers,
			id.WorkerEndpoints)
	}
	if err := checkEndpoints(slices.Concat(id.Servers, id.WorkerEndpoints)); err != nil {
		return fmt.Errorf("rolemaker: %w", err)
	}
	return nil
}

// peers is the number of processes with this one's role.
func (id Identity) peers() int {
	if id.IsServer() {
		return len(id.Servers)
	}
	return id.Workers
}
