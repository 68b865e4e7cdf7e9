package server

import (
	"context"
	"sync/atomic"
	"time"
)

// presence is the stage of a server's life, for probes. It has no lock: a probe is answered even if the server's lock
// is held for long.
type presence struct {
	stands atomic.Int32
	idle   atomic.Bool // after the end of the job, until workers join
}

const (
	absent int32 = iota // it fills its tables, or returns from its journal
	serves
	ends // it was asked to end, or the job is over
)

// begin sets the stage to serving, until asked ends or stop is called; from then on the server is about to end.
func (p *presence) begin(asked context.Context) (stop func()) {
	p.stands.Store(serves)
	release := context.AfterFunc(asked, func() { p.stands.Store(ends) })
	return func() {
		release()
		p.stands.Store(ends)
	}
}

// Presence reports whether this server has its tables and listens, and what it waits for if it is not ready; waits is
// "" if it is ready. It takes the lock only if the job is over and workers may come.
func (s *Server) Presence() (began bool, waits string) {
	switch s.presence.stands.Load() {
	case absent:
		return false, "the server does not listen yet"
	case ends:
		return true, "the server is about to end"
	}
	if s.presence.idle.Load() {
		s.st.Lock()
		defer s.st.Unlock()
		if !s.st.Roster.Begun() {
			return true, "the job is over"
		}
	}
	return true, ""
}

// stuckAfter is the least time without progress after which the server counts as stuck.
const stuckAfter = 30 * time.Second

// moves takes the lock at each heartbeat until ctx ends, to show that it is free. If the lock is held for longer, the
// pulses report that this process is stuck.
func (s *Server) moves(ctx context.Context) {
	pulse := s.c.Pulses.Begin("nobody gets the server's lock", max(stuckAfter, 2*s.c.Strategy.WorkerTimeout.Std()))
	defer pulse.End()
	tick := time.NewTicker(s.c.Strategy.HeartbeatInterval.Std())
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		s.st.Lock()
		pulse.Beat()
		s.st.Unlock()
	}
}
