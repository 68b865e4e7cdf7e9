package server

import (
	"context"
	"time"

	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/wire"
)

// watch looks for silence until ctx ends. Server 0 decides that a worker is dead and tells the others; each server by
// itself gives up when the workers it waits for never come, or when all have fallen silent.
func (s *Server) watch(ctx context.Context) {
	tick := time.NewTicker(max(s.c.Strategy.WorkerTimeout.Std()/8, time.Millisecond))
	defer tick.Stop()
	started := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if s.c.Index == 0 {
			for _, w := range s.silent() {
				s.declareDead(ctx, w)
			}
			s.endNorms()
		}
		s.giveUp(started)
	}
}

// silent lists the workers that have said nothing for longer than the strategy allows.
func (s *Server) silent() (ws []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.members {
		if m := &s.members[w]; m.state == alive && time.Since(m.seen) > s.c.Strategy.WorkerTimeout.Std() {
			ws = append(ws, w)
		}
	}
	return ws
}

// giveUp fails the job when workers never joined, or when nobody, server 0 included, has been heard of for so long that
// nobody will.
func (s *Server) giveUp(started time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	heard, waiting := started, false
	for w := range s.members {
		m := &s.members[w]
		if m.state == absent && time.Since(started) > s.c.Strategy.StartTimeout.Std() {
			s.fail(wire.Refuse(wire.StatusFailed, "%s within %v of the server's start: is it running, and does it know server %s?",
				m.describe(w, time.Now()), s.c.Strategy.StartTimeout.Std(), s.c.Endpoints[s.c.Index]))
			return
		}
		waiting = waiting || m.state == absent
		if m.seen.After(heard) {
			heard = m.seen
		}
	}
	if s.c.Index != 0 && !waiting && time.Since(heard) > 2*s.c.Strategy.WorkerTimeout.Std() {
		s.fail(wire.Refuse(wire.StatusFailed, "no word from any worker nor from server 0 for %v", time.Since(heard).Round(time.Millisecond)))
	}
}

// declareDead takes a worker out of the job on all servers. Its gradient for the open round counts only if every server has
// it.
func (s *Server) declareDead(ctx context.Context, w int) {
	s.mu.Lock()
	life := s.members[w].life
	s.log.Error("worker is dead", "worker", w, "silent", time.Since(s.members[w].seen).Round(time.Millisecond))
	s.mu.Unlock()

	states := []wire.Fenced{s.fenceOff(wire.Leave{Worker: w, Life: life})}
	for peer := range s.c.Endpoints {
		if peer == s.c.Index {
			continue
		}
		var fenced wire.Fenced
		if err := s.tell(ctx, peer, wire.OpFence, wire.Leave{Worker: w, Life: life}, &fenced); err != nil {
			s.log.Warn("could not tell a server of a death", "server", peer, "error", err)
			continue
		}
		states = append(states, fenced)
	}
	order := wire.Leave{Worker: w, Life: life, Forget: mustForget(states)}
	if w == 0 { // the worker that sets the rate may have told this server alone of it
		order.Rate, order.RateRound = s.ratePassedOn()
	}
	counts := make([]*wire.Dropped, len(s.c.Endpoints))
	for peer := range s.c.Endpoints {
		if peer == s.c.Index {
			continue
		}
		var dropped wire.Dropped
		if err := s.tell(ctx, peer, wire.OpDrop, order, &dropped); err != nil {
			s.log.Warn("could not take a dead worker out of a server's rounds", "server", peer, "error", err)
			continue
		}
		counts[peer] = &dropped
	}
	own := s.dropOff(order)
	counts[s.c.Index] = &own
	if round, with, without := torn(counts); len(without) > 0 && s.traits.Rounds {
		s.log.Warn("the last gradient of a dead worker is in the weights of some servers and not of others", "worker", w, "round", round, "with", with, "without", without)
	}
}

// torn says which servers have a worker's gradient in the last round in which any has it, and which have not: those had not been given
// it when it died, and others had closed the round. Servers that could not be asked are in neither.
func torn(counts []*wire.Dropped) (round mode.Round, with, without []int) {
	last := uint64(0)
	for _, c := range counts {
		if c != nil {
			last = max(last, c.Counts)
		}
	}
	for i, c := range counts {
		switch {
		case c == nil:
		case c.Counts == last:
			with = append(with, i)
		default:
			without = append(without, i)
		}
	}
	return mode.Round(last) - 1, with, without
}

// mustForget says whether some server lacks the gradient that others have noted for the same open round. Where a server
// has gone on already, the gradient is in its weights, and those who hold it count it too.
func mustForget(states []wire.Fenced) bool {
	lacking := false
	for _, st := range states {
		if st.Round != states[0].Round {
			return false
		}
		lacking = lacking || !st.Pushed
	}
	return lacking
}

// fenceOff refuses all that a dead worker's life may still send, and says how far it came.
func (s *Server) fenceOff(l wire.Leave) wire.Fenced {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &s.members[l.Worker]
	if m.state == alive && m.life == l.Life {
		m.fenced = true
	}
	return wire.Fenced{Round: uint64(s.mode.Open()), Pushed: m.noted != nil}
}

// dropOff takes a dead worker out, and says up to where its gradients count.
func (s *Server) dropOff(l wire.Leave) wire.Dropped {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.Rate > 0 {
		s.setRate(mode.Round(l.RateRound), l.Rate)
	}
	m := &s.members[l.Worker]
	if m.life == l.Life {
		s.depart(m, l.Worker, dead, l.Forget)
	}
	if m.noted != nil { // it counts when the others have pushed
		return wire.Dropped{Counts: uint64(s.mode.Open()) + 1}
	}
	return wire.Dropped{Counts: uint64(m.counts)}
}

// fence and drop are server 0's orders on the other servers.
func (s *Server) fence(f *wire.Frame, r *reply) error {
	l, err := s.order(f)
	if err != nil {
		return err
	}
	return r.JSON(s.fenceOff(l))
}

func (s *Server) drop(f *wire.Frame, r *reply) error {
	l, err := s.order(f)
	if err != nil {
		return err
	}
	s.log.Error("worker is dead", "worker", l.Worker)
	return r.JSON(s.dropOff(l))
}

func (s *Server) order(f *wire.Frame) (l wire.Leave, err error) {
	if err := f.JSON(&l); err != nil {
		return l, err
	}
	if l.Worker < 0 || l.Worker >= len(s.members) {
		return l, wire.Refuse(wire.StatusRefused, "worker %d: the job has %d workers", l.Worker, len(s.members))
	}
	return l, nil
}

// tell sends a control message to another server, again and again until it answers or has been silent for a worker timeout:
// one that did not hear of a death would wait for the dead. After such a silence it is asked once each time: when a server dies and
// takes all workers with it, each of their deaths would wait for it again.
func (s *Server) tell(ctx context.Context, peer int, op wire.Op, msg, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, s.c.Strategy.WorkerTimeout.Std())
	defer cancel()
	var b wire.Builder
	b.Reset(wire.Header{Op: op, Job: s.job})
	if err := b.JSON(msg); err != nil {
		return err
	}
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		answered, err := s.tellOnce(ctx, peer, b.Parts(), answer)
		if err == nil || answered {
			s.lost[peer] = false
			return err
		}
		if s.lost[peer] {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			s.lost[peer] = true
			return err
		}
	}
}

// tellOnce makes one attempt and says whether there was an answer to it.
func (s *Server) tellOnce(ctx context.Context, peer int, req [][]byte, answer any) (answered bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.c.Strategy.WorkerTimeout.Std()/10)
	defer cancel()
	err = s.c.Transport.Call(ctx, s.c.Endpoints[peer], req, func(body []byte) error {
		var f wire.Frame
		if err := f.Parse(body); err != nil {
			return err
		}
		answered = true
		if err := f.Refusal(); err != nil || answer == nil {
			return err
		}
		return f.JSON(answer)
	})
	return answered, err
}
