package client

import (
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/wire"
)

// task is a request of an asynchronous session that a sender should make.
type task struct {
	mode.Send
	g *collected // nil without
	p *pulling   // nil without
}

// start starts the session's goroutines: as many senders as requests may travel, and the receiver of dense weights if it
// has one.
func (s *asyncSession) start() {
	exchange := func() *exchange {
		x := newExchange(s.c)
		x.dense, x.install, x.newest = s.dense, &s.staged, s.newest
		return x
	}
	for range cap(s.work) {
		x := exchange()
		s.senders.Go(func() { s.send(x) })
	}
	if s.c.c.Strategy.IndependentRecvThread {
		x := exchange()
		s.senders.Go(func() { s.receive(x) })
	}
}

// act hands out what the queue says should go now, and ends the goroutines when it is over. mu is held.
func (s *asyncSession) act() {
	for next, ok := s.queue.Next(); ok; next, ok = s.queue.Next() {
		t := task{Send: next, p: s.wanted[next.Pull]}
		s.wanted[next.Pull] = nil
		if next.Place >= 0 {
			t.g = s.gradients[next.Place]
		}
		s.work <- t
	}
	if s.queue.Receive() {
		s.receipt <- struct{}{}
	}
	if s.queue.Over() && !s.ended {
		s.ended = true
		close(s.work)
		close(s.receipt)
	}
}

// send is a sender: one request after another.
func (s *asyncSession) send(x *exchange) {
	for t := range s.work {
		x.noDense = !t.Dense
		err := s.exchange(x, t)
		s.answered(t, err)
	}
}

// receive brings dense weights when the queue says so.
func (s *asyncSession) receive(x *exchange) {
	for range s.receipt {
		err := s.exchange(x, task{})
		s.received(err)
	}
}

// exchange makes a request: a push, a pull, both, or of dense weights alone.
func (s *asyncSession) exchange(x *exchange, t task) error {
	r := request{op: wire.OpStep}
	if t.p != nil {
		r.op, r.pull = t.p.op, t.p.rows
	}
	doing := "pulling"
	if g := t.g; g != nil {
		doing = "pushing"
		step, acked := s.c.steps.begin()
		defer s.c.steps.end(step)
		r.samples, r.dense, r.push, r.from, r.step, r.acked = g.samples, g.dense, g.rows, g.from, step, acked
		r.all = true // a save waits on every server for the same steps
	}
	if err := x.run(s.ctx, r); err != nil {
		return describe(err, doing, s.c)
	}
	s.c.counts.steps.Add(int64(t.Steps))
	if t.p != nil {
		for i := range t.p.read {
			t.p.read[i] = x.lanes[i].read
		}
	}
	if x.arrived.Load() > 0 {
		s.staged.Lock()
		s.fresh = true
		s.staged.Unlock()
	}
	return nil
}

// answered takes note of a request's end.
func (s *asyncSession) answered(t task, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.Answered(t.Send, err == nil)
	if err == nil && t.p != nil {
		t.p.done <- struct{}{}
	}
	s.settle(err)
}

// received takes note of the end of a request of the receiver.
func (s *asyncSession) received(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.Received(err == nil)
	s.settle(err)
}

// settle goes on after a request. The first error is the session's. mu is held.
func (s *asyncSession) settle(err error) {
	if err != nil && s.err == nil {
		s.err = err
		close(s.failed)
	}
	s.act()
	s.wake()
}
