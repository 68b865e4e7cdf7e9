package fleet

import (
	"sync"

	"github.com/gofleet/gofleet/internal/observe"
)

// probes answers probes with the state of a role, from Minimize until it has left its job.
type probes struct {
	board *observe.Board // nil without an address
	mu    sync.Mutex
	leave func()
}

// show answers probes for this role until hide.
func (p *probes) show(role string, stands func() observe.Health) {
	if p.board == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leave = p.board.Add(role, stands)
}

// hide ends the answers.
func (p *probes) hide() {
	p.mu.Lock()
	leave := p.leave
	p.leave = nil
	p.mu.Unlock()
	if leave != nil {
		leave()
	}
}

// stands is the state of this role for probes.
func (f *Fleet) stands() (s observe.Health) {
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
