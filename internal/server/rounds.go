package server

import (
	"fmt"
	"time"

	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/wire"
)

// await waits, with mu held on entry and exit, until ready says so. It fails when the job fails, the server closes, or the
// strategy's wait timeout passes; why describes the wait for the error.
func (s *Server) await(ready func() bool, why func() string) error {
	var limit *time.Timer
	for !ready() {
		if s.failure != nil {
			return s.failure
		}
		if limit == nil {
			limit = time.NewTimer(s.c.Strategy.WaitTimeout.Std())
			defer limit.Stop()
		}
		changed := s.change()
		s.mu.Unlock()
		timeout := false
		select {
		case <-changed:
		case <-s.closing:
		case <-limit.C:
			timeout = true
		}
		s.mu.Lock()
		if timeout && !ready() {
			return wire.Refuse(wire.StatusFailed, "server %d waited %v %s", s.c.Index, s.c.Strategy.WaitTimeout.Std(), why())
		}
		if isClosed(s.closing) && !ready() {
			return wire.Refuse(wire.StatusFailed, "server %d has shut down while it waited %s", s.c.Index, why())
		}
	}
	return s.failure
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// broadcast wakes everybody who waits, and Run only when it is time to look whether the job is over: it would be in the way of
// every push. mu is held.
func (s *Server) broadcast() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
	if s.failure != nil || s.done() {
		close(s.ending)
		s.ending = make(chan struct{})
	}
}

// change is closed by the next broadcast. mu is held.
func (s *Server) change() <-chan struct{} {
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

// done says that every worker has gone and what they pushed is in the tables. mu is held.
func (s *Server) done() bool { return s.applying == 0 && s.over() }

// fail ends the job for everybody: a sync round that lost a member's gradient half-way can't be repaired. mu is held.
func (s *Server) fail(err error) {
	if s.failure == nil {
		s.failure = err
		s.log.Error("job failed", "error", err)
		s.end()
		s.broadcast()
	}
}

// awaitRound waits until every update that r must reflect is in the tables. mu is held.
func (s *Server) awaitRound(r mode.Round) error {
	return s.await(func() bool { return s.mode.Reached(r) }, func() string { return s.missing(r) })
}

// missing describes whom round r waits for.
func (s *Server) missing(r mode.Round) string {
	text := fmt.Sprintf("for round %v (round %v is open)", r, s.mode.Open())
	for _, w := range s.mode.Missing() {
		text += fmt.Sprintf("; missing %s", s.members[w].describe(w, time.Now()))
	}
	return text
}
