package session

import (
	"sync"

	"github.com/gofleet/gofleet/internal/exchange"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/wire"
)

// task is a request for a sender of an asynchronous session. A push and a pull may share one request: then the pull is
// for the next step.
type task struct {
	mode.Send
	g *queued  // nil without a push
	p *pulling // nil without a pull
	// seq is the number of the push, and all below acked are answered. Pushes are numbered in the order of their steps.
	seq, acked uint64
}

// senders are a session's goroutines, with their tasks. work and receipt are closed, with mu held, when the queue is
// over; then the goroutines end.
type senders struct {
	running sync.WaitGroup
	work    chan task // has room for as many as may be under way
	// receipt has room for one element; the queue asks for no second before the first was answered.
	receipt chan struct{} // for the receiver
	ended   bool          // both are closed
}

// start starts the session's goroutines: as many senders as requests may be under way, and the receiver of dense
// weights if it has one. Each has an exchange of its own, whose weights arrive in the staging.
func (s *asyncSession) start() {
	for range cap(s.senders.work) {
		x := s.staging.exchange(s.w.Servers)
		s.senders.running.Go(func() { s.send(x) })
	}
	if s.w.Strategy.IndependentRecvThread {
		x := s.staging.exchange(s.w.Servers)
		s.senders.running.Go(func() { s.receive(x) })
	}
}

// act starts what the queue wants to be sent now, and ends the goroutines when the queue is over. The caller holds mu.
// It never waits: work has room for all requests that may be under way.
func (s *asyncSession) act() {
	for next, ok := s.queue.Next(); ok; next, ok = s.queue.Next() {
		t := task{Send: next, p: s.pulls.wanted[next.Pull]}
		s.pulls.wanted[next.Pull] = nil
		if next.Place >= 0 {
			t.g = s.gradients[next.Place]
			t.seq, t.acked = s.w.Servers.Sequence.Begin()
		}
		s.senders.work <- t
	}
	if s.queue.Receive() {
		s.senders.receipt <- struct{}{}
	}
	if s.queue.Over() && !s.senders.ended {
		s.senders.ended = true
		close(s.senders.work)
		close(s.senders.receipt)
	}
}

// send is a sender: it makes one request after another. It runs on its own goroutine until work is closed.
func (s *asyncSession) send(x *exchange.Exchange) {
	for t := range s.senders.work {
		x.NoDense = !t.Dense
		err := s.make(x, t)
		s.answered(t, err)
	}
}

// receive fetches dense weights when the queue asks for it. It runs on its own goroutine until receipt is closed.
func (s *asyncSession) receive(x *exchange.Exchange) {
	for range s.senders.receipt {
		err := s.make(x, task{})
		s.received(err)
	}
}

// make makes a request: a push, a pull, both, or one for dense weights alone. It returns when the servers that it needs
// have answered, or with the error of one. It does not use the task's memory after that.
func (s *asyncSession) make(x *exchange.Exchange, t task) error {
	r := exchange.Request{Op: wire.OpStep}
	if t.p != nil {
		r.Op, r.Pull = t.p.op, t.p.rows
	}
	doing := "pulling"
	if g := t.g; g != nil {
		doing = "pushing"
		defer s.w.Servers.Sequence.End(t.seq)
		r.Push, r.From, r.Positions, r.Seq, r.Acked = g.Step, g.from, g.at[:], t.seq, t.acked
		r.All = true // a save waits for the same steps on every server
	}
	if err := x.Run(s.ctx, r); err != nil {
		return describe(err, doing, s.w)
	}
	s.w.Servers.Tally.Steps.Add(int64(t.Steps))
	if t.p != nil {
		x.Read(t.p.read)
	}
	if x.Arrived.Load() > 0 {
		s.staging.arrived()
	}
	return nil
}

// answered handles the end of a request. The place of its gradient becomes free, and a thread that waits for the pull
// goes on.
func (s *asyncSession) answered(t task, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.Answered(t.Send, err == nil)
	if err == nil && t.p != nil {
		t.p.done <- struct{}{}
	}
	s.settle(err)
}

// received handles the end of a request of the receiver, which has no gradients.
func (s *asyncSession) received(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.Received(err == nil)
	s.settle(err)
}

// settle continues after a request. The first error becomes the session's. The caller holds mu. All waiters check
// again.
func (s *asyncSession) settle(err error) {
	if err != nil && s.err == nil {
		s.err = err
		close(s.failed)
	}
	s.act()
	s.changed.send()
}
