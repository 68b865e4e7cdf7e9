package server

import (
	"fmt"
	"slices"
	"time"

	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/wire"
)

// member is what a server knows of one worker.
type member struct {
	state memberState
	// life is the worker's current life; frames of an earlier one are refused.
	life uint32
	// fenced means that server 0 is about to declare it dead: what it still sends is refused.
	fenced bool
	seen   time.Time
	window window
	// noted is its gradient for the open round, until that is applied.
	noted *push
	// counts is the round after the last whose update had a gradient of this worker; in modes with rounds.
	counts mode.Round
	// stages are pushes of which some pieces have come, by step.
	stages map[uint64]*stage
	// changed are the rows that this life has to be told of (mode geo).
	changed *changes
	// pulled is what the worker last pulled of the dense values, for delay compensation.
	pulled []float32
	// publishing counts the pieces of the initial weights that it has published.
	publishing int
}

type memberState uint8

const (
	absent memberState = iota // has not joined yet
	alive
	left // has stopped
	dead // was silent for too long, or was replaced
)

func (m *member) describe(w int, now time.Time) string {
	switch m.state {
	case absent:
		return fmt.Sprintf("worker %d (has not joined)", w)
	case left:
		return fmt.Sprintf("worker %d (has stopped)", w)
	}
	return fmt.Sprintf("worker %d (last seen %v ago)", w, now.Sub(m.seen).Round(time.Millisecond))
}

// member returns the sender of a frame if it is the current life of a worker, and notes that it lives. mu is held.
func (s *Server) member(h *wire.Header) (*member, error) {
	if int64(h.Worker) >= int64(len(s.members)) {
		return nil, wire.Refuse(wire.StatusRefused, "worker %d: the job has %d workers", h.Worker, len(s.members))
	}
	m := &s.members[h.Worker]
	switch {
	case m.state == absent || h.Life > m.life:
		return nil, wire.Refuse(wire.StatusNotReady, "worker %d has not said hello to server %d", h.Worker, s.c.Index)
	case h.Life < m.life:
		return nil, wire.Refuse(wire.StatusStale, "worker %d was restarted: this is life %d, life %d is current", h.Worker, h.Life, m.life)
	case m.state == dead || m.fenced:
		return nil, wire.Refuse(wire.StatusStale, "worker %d was silent for more than %v and is out of the job", h.Worker, s.c.Strategy.WorkerTimeout.Std())
	}
	m.seen = time.Now()
	return m, nil
}

// hello answers a worker that joins.
func (s *Server) hello(f *wire.Frame, r *reply) error {
	w, err := s.join(f)
	if err != nil {
		return err
	}
	return r.JSON(w)
}

// join begins a life of a worker: on server 0 the next one, elsewhere the one that server 0 gave.
func (s *Server) join(f *wire.Frame) (wire.Welcome, error) {
	var hello wire.Hello
	if err := f.JSON(&hello); err != nil {
		return wire.Welcome{}, err
	}
	me, sender := fmt.Sprintf("server %d", s.c.Index), fmt.Sprintf("worker %d", f.Worker)
	if d := s.fingerprint.Difference(me, hello.Fingerprint, sender); d != "" {
		return wire.Welcome{}, wire.Refuse(wire.StatusMismatch, "%s builds another job than %s: %s", sender, me, d)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if int64(f.Worker) >= int64(len(s.members)) {
		return wire.Welcome{}, wire.Refuse(wire.StatusMismatch, "server %d has workers 0 to %d, and this is worker %d: "+
			"give all processes the same number of workers (PADDLE_TRAINERS_NUM)", s.c.Index, len(s.members)-1, f.Worker)
	}
	m := &s.members[f.Worker]
	number := f.Life
	if f.Op == wire.OpJoin {
		number = s.lives.of(f.Worker, hello.Process, m.life+1)
	}
	if err := s.begin(m, int(f.Worker), number); err != nil {
		return wire.Welcome{}, err
	}
	return wire.Welcome{Life: m.life, Round: uint64(s.mode.Open()), Published: s.published, From: s.from, Origin: s.origin}, nil
}

// lives remembers, on server 0, which life each of the last processes of a worker was given: a join that arrives twice, or
// late, begins one.
type lives map[uint32][]life

type life struct {
	process uint64
	number  uint32
}

// keepLives is how many processes of a worker are remembered: more than can have a join on its way.
const keepLives = 16

func (l lives) of(worker uint32, process uint64, next uint32) uint32 {
	all := l[worker]
	if i := slices.IndexFunc(all, func(x life) bool { return x.process == process }); i >= 0 {
		return all[i].number
	}
	if len(all) == keepLives {
		all = slices.Delete(all, 0, 1)
	}
	l[worker] = append(all, life{process, next})
	return next
}

// begin makes that number the current life of worker w. mu is held.
func (s *Server) begin(m *member, w int, number uint32) error {
	switch {
	case number == m.life && m.state == alive: // a repeated hello
		m.seen = time.Now()
		return nil
	case number <= m.life:
		return wire.Refuse(wire.StatusStale, "worker %d was restarted: life %d is over, life %d is current", w, number, m.life)
	case s.traits.Lockstep && m.state != absent && !s.fresh(m):
		return wire.Refuse(wire.StatusRefused, "worker %d was part of this %s job and has ended; the others went on without it: start the job again from its last checkpoint", w, s.c.Strategy.Mode)
	}
	m.changed.close()
	*m = member{state: alive, life: number, seen: time.Now()}
	if s.traits.Copies {
		var err error
		if m.changed, err = s.newChanges(); err != nil {
			return err
		}
	}
	s.log.Info("worker joined", "worker", w, "life", number)
	s.broadcast()
	return nil
}

// fresh says whether a life has done nothing yet, so that another may take its place in any mode.
func (s *Server) fresh(m *member) bool {
	return m.state == alive && m.noted == nil && m.window.last == 0 && len(m.window.steps) == 0
}

// heartbeat answers a worker that shows life.
func (s *Server) heartbeat(f *wire.Frame, _ *reply) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.member(&f.Header); err != nil {
		return err
	}
	return s.failure
}

// leave takes note that a worker has stopped. It may be said twice.
func (s *Server) leave(f *wire.Frame) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if int64(f.Worker) < int64(len(s.members)) && s.members[f.Worker].state == left && s.members[f.Worker].life == f.Life {
		return nil
	}
	m, err := s.member(&f.Header)
	if err != nil {
		return err
	}
	s.log.Info("worker stopped", "worker", f.Worker)
	s.depart(m, int(f.Worker), left, false)
	return nil
}

// depart ends a member's part in the job and lets the round go on without it. mu is held.
func (s *Server) depart(m *member, w int, state memberState, forget bool) {
	if m.state == left || m.state == dead {
		return
	}
	m.state, m.stages = state, nil
	m.changed.close()
	s.cut.Leave(w)
	if forget && m.noted != nil {
		m.noted.seen.refuse(wire.Refuse(wire.StatusStale, "worker %d was out of the job before its round closed", w))
		m.noted = nil
	}
	s.applyRound(s.mode.Leave(w, forget))
	s.broadcast()
}

// over says whether every worker has been here and gone. mu is held.
func (s *Server) over() bool {
	for i := range s.members {
		if st := s.members[i].state; st == absent || st == alive {
			return false
		}
	}
	return true
}

// deaths lists the workers that ended without a word. mu is held.
func (s *Server) deaths() (ws []int) {
	for w := range s.members {
		if s.members[w].state == dead {
			ws = append(ws, w)
		}
	}
	return ws
}
