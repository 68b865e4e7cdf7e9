package server

import (
	"context"
	"sync/atomic"
	"time"
)

// presence is how far a server is in its life, for probes. It has no lock: a probe is answered while the lock is held
// for long.
type presence struct {
	stands atomic.Int32
	idle   atomic.Bool // behind the end of the job, until workers join
}

const (
	absent int32 = iota // it fills its tables, or comes back from its journal
	serves
	ends // it was asked to, or the job is over
)

// begin says that the server has its tables and listens, until asked ends or stop is called. From then on Presence says
// that the server is about to end.
func (p *presence) begin(asked context.Context) (stop func()) {
	p.stands.Store(serves)
	release := context.AfterFunc(asked, func() { p.stands.Store(ends) })
	return func() {
		release()
		p.stands.Store(ends)
	}
}

// Presence says whether this server has its tables and listens, and what it waits for where it is not ready. waits is
// "" of a server that is ready. It takes the lock only where the job is over and workers may come.
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

// stuckAfter is how long what must move may stand still, at least.
const stuckAfter = 30 * time.Second

// moves shows that the lock is free again and again, which every request waits for, until ctx ends. Where the lock is
// held for longer, the pulses report that this process does not live.
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
