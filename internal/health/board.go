package health

import (
	"net/http"
	"slices"
	"sync"
)

// Status is how a role stands.
type Status struct {
	// Began says that it has its place in the job: a server has its tables and listens, a worker has joined.
	Began bool
	// Waits is why it is not ready, "" if it is.
	Waits string
	// Stuck names a loop that ought to move and doesn't, "" if all do.
	Stuck string
}

// Board has the roles that this process plays, one as a rule. A process with several has begun, is ready and lives when
// all of them do.
type Board struct {
	mu    sync.Mutex
	roles []*role
}

type role struct {
	name   string
	status func() Status
}

// Add has a role answer, in place of what this process played by that name before, until leave is called.
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

// Answer is what is said of a path, and the status of HTTP. A process without a role lives, as before it has joined and
// when it has left, and is not ready.
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
		return http.StatusNotFound, "there are /livez, /readyz and /startupz, and nothing else"
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
