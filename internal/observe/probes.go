package observe

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
)

// Health is the state of a role for probes.
type Health struct {
	// Began says that the role has begun: a server has its tables and listens, a worker has joined.
	Began bool
	// Waits says why the role is not ready, "" if it is.
	Waits string
	// Stuck names a loop that makes no progress although it should, "" if there is none.
	Stuck string
}

// Board holds the roles of this process, usually one. A process with several has begun, is ready and is alive when all
// of them are.
type Board struct{ roles roles[Health] }

var boards places[*Board]

// OpenBoard returns the board of an address, such as ":8080", at which probes are answered for as long as the process
// runs, whatever roles it has. The first call for an address listens there, and returns an error if it can't.
func OpenBoard(addr string, log *slog.Logger) (*Board, error) {
	return boards.open(addr, func() (*Board, error) {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			return nil, fmt.Errorf("%w: want an address for this process alone, such as :8080", err)
		}
		b := new(Board)
		log.Debug("probes are answered", "at", l.Addr().String())
		go func() { _ = ServeProbes(l, b) }() // until the process ends
		return b, nil
	})
}

// ServeProbes answers probes until the listener is closed, and nothing else.
func ServeProbes(l net.Listener, b *Board) error {
	return Serve(l, func(r *Request) Answer { return Text(b.Answer(r.Path)) })
}

// Add registers a role, in place of an earlier one of the same name, until leave is called. Answer calls status.
func (b *Board) Add(name string, status func() Health) (leave func()) {
	return b.roles.add(name, status)
}

// Answer returns the answer to a probe of a path, and its HTTP status. A process without a role, as before it has
// joined or after it has left, is alive and not ready.
func (b *Board) Answer(path string) (status int, text string) {
	var why func(Health) string
	switch path {
	case "/livez":
		why = func(s Health) string { return s.Stuck }
	case "/startupz":
		why = func(s Health) string {
			if s.Began {
				return ""
			}
			return s.Waits
		}
	case "/readyz":
		why = func(s Health) string { return s.Waits + s.Stuck }
	default:
		return http.StatusNotFound, "unknown path; want /livez, /readyz or /startupz"
	}
	roles := b.roles.now()
	for _, r := range roles {
		if waits := why(r); waits != "" {
			return http.StatusServiceUnavailable, waits
		}
	}
	if len(roles) == 0 && path != "/livez" {
		return http.StatusServiceUnavailable, "it has no part in a job now"
	}
	return http.StatusOK, "ok"
}
