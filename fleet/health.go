package fleet

import (
	"fmt"
	"log/slog"
	"os"
	"sync"

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

// probes are told how a role stands, from Minimize until it has left its job.
type probes struct {
	board *health.Board // where they ask, nil if none do
	mu    sync.Mutex
	leave func()
}

// show has probes answered for this role until hide.
func (p *probes) show(role string, stands func() health.Status) {
	if p.board == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leave = p.board.Add(role, stands)
}

// hide ends that.
func (p *probes) hide() {
	p.mu.Lock()
	leave := p.leave
	p.leave = nil
	p.mu.Unlock()
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
