package client

import (
	"time"

	"github.com/gofleet/gofleet/internal/wire"
)

// waitUnit is the unit of the strategy's SendWaitTimes.
const waitUnit = 10 * time.Millisecond

// start starts the session's goroutines.
func (s *asyncSession) start() {
	newest := make([]uint64, len(s.c.c.Servers))
	exchange := func() *exchange {
		x := newExchange(s.c)
		x.dense, x.install, x.newest = s.dense, &s.staged, newest
		return x
	}
	for range s.c.c.Strategy.ThreadPoolSize {
		x := exchange()
		s.senders.Go(func() { s.send(x) })
	}
	if s.c.c.Strategy.IndependentRecvThread {
		x := exchange()
		s.senders.Go(func() { s.receive(x) })
	}
}

// send is a sender: one request after another, each with the oldest gradient and the pull that is wanted.
func (s *asyncSession) send(x *exchange) {
	for {
		g, p, dense := s.work()
		if g == nil && p == nil {
			return
		}
		x.noDense = !dense
		err := s.exchange(x, g, p)
		s.finish(g, p, err)
	}
}

// receive brings dense weights whenever enough gradients were sent.
func (s *asyncSession) receive(x *exchange) {
	for s.due() {
		err := s.exchange(x, nil, nil)
		s.finish(nil, nil, err)
	}
}

// work waits for something to send, and says whether dense weights are wanted too; nothing means that the session is closed
// and empty.
func (s *asyncSession) work() (g *gradient, p *pulling, dense bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.err != nil:
			return nil, nil, false
		case s.wanted != nil || len(s.queue) > 0 && !s.held && s.ripe(s.queue[0]):
			if len(s.queue) > 0 && (s.wanted == nil || s.wanted.op == wire.OpStep) {
				g, s.queue = s.queue[0], s.queue[1:]
			}
			p, s.wanted = s.wanted, nil
			s.busy++
			return g, p, s.takesDense(g, p)
		case s.closed && len(s.queue) == 0:
			return nil, nil, false
		}
		s.sleep()
	}
}

// sleep waits for a change. mu is held on entry and exit.
func (s *asyncSession) sleep() {
	changed := s.changed
	s.mu.Unlock()
	<-changed
	s.mu.Lock()
}

// ripe says whether a gradient has waited long enough for others to be merged with it; if not, it makes sure that the
// question comes up again. mu is held.
func (s *asyncSession) ripe(g *gradient) bool {
	wait := time.Duration(s.c.c.Strategy.SendWaitTimes) * waitUnit
	left := wait - time.Since(g.since)
	if g.steps >= s.c.c.Strategy.MaxMergeVarNum || len(s.free) == 0 || left <= 0 || s.closed || s.draining {
		return true
	}
	if !g.timed {
		g.timed = true
		time.AfterFunc(left, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.broadcast()
		})
	}
	return false
}

// takesDense says whether a request brings dense weights too. An evaluation always does. mu is held.
func (s *asyncSession) takesDense(g *gradient, p *pulling) bool {
	if p != nil && p.op == wire.OpPeek {
		return true
	}
	sent := s.sent
	if g != nil {
		sent += g.steps
	}
	if s.c.c.Strategy.IndependentRecvThread || sent < s.c.c.Strategy.MinSendGradNumBeforeRecv {
		return false
	}
	s.sent = 0
	if g != nil {
		s.sent = -g.steps // finish counts them, and they are taken care of
	}
	return true
}

// due waits until enough gradients were sent for the dense weights to be asked for; false means that the session is over.
func (s *asyncSession) due() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.err == nil && !s.closed {
		if s.sent >= s.c.c.Strategy.MinSendGradNumBeforeRecv {
			s.sent = 0
			s.busy++
			return true
		}
		s.sleep()
	}
	return false
}

func (s *asyncSession) exchange(x *exchange, g *gradient, p *pulling) error {
	r := request{op: wire.OpStep}
	if p != nil {
		r.op, r.pull = p.op, p.rows
	}
	doing := "pulling"
	if g != nil {
		doing = "pushing"
		step, acked := s.c.steps.begin()
		defer s.c.steps.end(step)
		r.samples, r.dense, r.push, r.from, r.step, r.acked = g.samples, g.dense, g.rows, g.from, step, acked
	}
	if err := x.run(s.c.life, r); err != nil {
		return describe(err, doing, s.c)
	}
	if g != nil {
		s.c.counts.steps.Add(int64(g.steps))
	}
	if p != nil {
		for i := range p.read {
			p.read[i] = x.lanes[i].read
		}
	}
	if x.arrived.Load() > 0 {
		s.staged.Lock()
		s.fresh = true
		s.staged.Unlock()
	}
	return nil
}

// finish takes note of a request's end.
func (s *asyncSession) finish(g *gradient, p *pulling, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
	if g != nil {
		s.sent += g.steps
		s.free = append(s.free, g)
	}
	switch {
	case err != nil && s.err == nil:
		s.err = err
	case err == nil && p != nil:
		close(p.done)
	}
	s.broadcast()
}
