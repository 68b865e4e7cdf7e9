package session

import (
	"context"
	"sync"

	"github.com/gofleet/gofleet/internal/exchange"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/wire"
)

// task is a request of an asynchronous session. A push and a pull may share one request: then the pull is for the next
// step.
type task struct {
	mode.Send
	g *queued  // nil without a push
	p *pulling // nil without a pull
	// seq is the number of the push, and all below acked are answered. Pushes are numbered in the order of their steps.
	seq, acked uint64
}

// senders are a session's goroutines. work and receipt are closed, with mu held, when the queue is over; then the
// goroutines end.
type senders struct {
	running sync.WaitGroup
	work    chan task // has room for as many as may be under way, and a reminder
	// reminded says that work has a task without a push and a pull: a sender is to send a gradient then, unless the
	// thread has come first, with the pull of its next step.
	reminded bool
	// receipt has room for one element; the queue asks for no second before the first was answered.
	receipt chan struct{} // for the receiver
	ended   bool          // both are closed
}

// start starts the session's goroutines: as many senders as requests may be under way, and the receiver of dense
// weights if it has one. Each has an exchange of its own, whose weights arrive in the staging; a single sender shares
// the thread's, since one request at a time is under way.
func (s *asyncSession) start() {
	n := s.queue.Requests()
	for range n {
		x := s.x
		if n > 1 {
			x = s.staging.exchange(s.w.Servers)
		}
		s.senders.running.Go(func() { s.send(x) })
	}
	if s.w.Strategy.IndependentRecvThread {
		x := s.staging.exchange(s.w.Servers)
		s.senders.running.Go(func() { s.receive(x) })
	}
}

// act starts what the queue wants to be sent now, and ends the goroutines when the queue is over. The caller holds mu.
// It never waits: work has room for all requests that may be under way. A pull that the thread makes itself is left to
// it, and what comes after that.
func (s *asyncSession) act() {
	for pull, ok := s.queue.Ready(); ok; pull, ok = s.queue.Ready() {
		if p := s.pulls.wanted[pull]; p != nil && p.waits {
			s.changed.send()
			break
		}
		s.senders.work <- s.next()
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

// remind has a sender act, which takes a moment. The caller holds mu.
func (s *asyncSession) remind() {
	if !s.senders.reminded && !s.senders.ended {
		s.senders.reminded = true
		s.senders.work <- task{}
	}
}

// next begins the request that the queue wants to be sent now. The caller holds mu.
func (s *asyncSession) next() task {
	next, _ := s.queue.Next()
	t := task{Send: next, p: s.pulls.wanted[next.Pull]}
	s.pulls.wanted[next.Pull] = nil
	if next.Place >= 0 {
		t.g = s.gradients[next.Place]
		t.seq, t.acked = s.w.Servers.Sequence.Begin()
	}
	return t
}

// send is a sender: it makes one request after another. It runs on its own goroutine until work is closed.
func (s *asyncSession) send(x *exchange.Exchange) {
	for t := range s.senders.work {
		switch {
		case t.p != nil:
			s.answered(t, s.make(s.ctx, x, t, t.p.rows))
		case t.g != nil:
			s.answered(t, s.make(s.ctx, x, t, nil))
		default:
			s.mu.Lock()
			s.senders.reminded = false
			s.act()
			s.mu.Unlock()
		}
	}
}

// receive fetches dense weights when the queue asks for it. It runs on its own goroutine until receipt is closed.
func (s *asyncSession) receive(x *exchange.Exchange) {
	for range s.senders.receipt {
		s.received(s.make(s.ctx, x, task{Send: mode.Send{Dense: true}}, nil))
	}
}

// make makes a request: a push, a pull into rows, both, or one for dense weights alone. It returns when the servers
// that it needs have answered, or with the error of one. It does not use the task's memory after that.
func (s *asyncSession) make(ctx context.Context, x *exchange.Exchange, t task, rows []exchange.Rows) error {
	x.NoDense = !t.Dense
	r := exchange.Request{Op: wire.OpStep, Pull: rows}
	if t.p != nil {
		r.Op = t.p.op
	}
	doing := "pulling"
	if g := t.g; g != nil {
		doing = "pushing"
		defer s.w.Servers.Sequence.End(t.seq)
		r.Push, r.From, r.Positions, r.Seq, r.Acked = g.Step, g.from, g.at[:], t.seq, t.acked
		r.All = true // a save waits for the same steps on every server
	}
	if err := x.Run(ctx, r); err != nil {
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
	if err == nil && t.p != nil && !t.p.waits {
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
