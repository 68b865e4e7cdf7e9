package fleet

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/gofleet/gofleet/internal/health"
)

// Where this process answers probes, as FLEET_HEALTH says; empty is nowhere.
const envHealth = "FLEET_HEALTH"

var ports health.Ports

// openBoard is what probes of this process are answered from, nil where none ask.
func openBoard(log *slog.Logger) (*health.Board, error) {
	addr := os.Getenv(envHealth)
	if addr == "" {
		return nil, nil
	}
	b, err := ports.Open(addr, log)
	if err != nil {
		return nil, fmt.Errorf("fleet: %s=%s: %w", envHealth, addr, err)
	}
	return b, nil
}

// show has probes answered for this role until hide. Locked.
func (f *Fleet) show() {
	if f.board != nil {
		f.leaveBoard = f.board.Add(f.String(), f.stands)
	}
}

// hide ends that: the role has left its job.
func (f *Fleet) hide() {
	f.mu.Lock()
	leave := f.leaveBoard
	f.leaveBoard = nil
	f.mu.Unlock()
	if leave != nil {
		leave()
	}
}

// stands is what probes are told of this role.
func (f *Fleet) stands() (s health.Status) {
	s.Stuck = f.pulses.Stuck()
	server, _ := f.hosted.now()
	switch {
	case server != nil:
		s.Began, s.Waits = server.Presence()
	case f.IsServer():
		s.Waits = "the server fills its tables"
	default:
		s.Began, s.Waits = f.saving.stands()
	}
	return s
}
