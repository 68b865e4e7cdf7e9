package health

import (
	"net/http"
	"slices"
	"sync"
)

// Status is the state of a role.
type Status struct {
	// Began says that the role has begun: a server has its tables and listens, a worker has joined.
	Began bool
	// Waits says why the role is not ready, "" if it is.
	Waits string
	// Stuck names a loop that makes no progress although it should, "" if there is none.
	Stuck string
}

// Board holds the roles of this process, usually one. A process with several has begun, is ready and is alive when all
// of them are.
type Board struct {
	mu    sync.Mutex
	roles []*role
}

type role struct {
	name   string
	status func() Status
}

// Add registers a role, in place of an earlier one of the same name, until leave is called. Answer calls status.
func (b *Board) Add(name string, status func() Status) (leave func()) {
	r := &role{name, status}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.roles = append(slices.DeleteFunc(b.roles, func(o *role) bool { return o.name == name }), r)
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.roles = slices.DeleteFunc(b.roles, func(o *role) bool { return o == r })
	}
}

// Answer returns the answer to a probe of a path, and its HTTP status. A process without a role, as before it has
// joined or after it has left, is alive and not ready.
func (b *Board) Answer(path string) (status int, text string) {
	var why func(Status) string
	switch path {
	case "/livez":
		why = func(s Status) string { return s.Stuck }
	case "/startupz":
		why = func(s Status) string {
			if s.Began {
				return ""
			}
			return s.Waits
		}
	case "/readyz":
		why = func(s Status) string { return s.Waits + s.Stuck }
	default:
		return http.StatusNotFound, "unknown path; want /livez, /readyz or /startupz"
	}
	b.mu.Lock()
	roles := slices.Clone(b.roles)
	b.mu.Unlock()
	for _, r := range roles {
		if waits := why(r.status()); waits != "" {
			return http.StatusServiceUnavailable, waits
		}
	}
	if len(roles) == 0 && path != "/livez" {
		return http.StatusServiceUnavailable, "it has no part in a job now"
	}
	return http.StatusOK, "ok"
}
