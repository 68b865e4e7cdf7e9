package client

import (
	"context"
	"slices"
	"sync"

	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
)

// asyncSession trains without waiting for pushes: End copies the gradients and returns, and a sender of the session's own
// sends them, together with the pull of the next batch's rows. While one request is on its way a second may be ready; a third
// waits, so that gradients don't grow stale without bound.
//
// When the next batch is known, its rows are asked for at the beginning of this one and arrive while it computes; they
// then miss at most the updates of this worker's last two steps.
type asyncSession struct {
	c      *Client
	params []*optimizer.Param
	clean  cleaner
	sender sync.WaitGroup

	mu      sync.Mutex // guards what follows
	changed chan struct{}
	err     error
	closed  bool
	// held means that a pull will follow at once, which the queued push should travel with.
	held   bool
	free   []*gradient
	queue  []*gradient
	wanted *pulling // asked for, not yet taken by the sender
	next   *pulling // what the next Begin will need
	spare  []*pulling
	busy   bool // a request is on its way

	staged sync.Mutex // guards dense and fresh, which the sender fills
	dense  [][]float32
	fresh  bool
}

// gradient is a copy of a step's gradients.
type gradient struct {
	samples int
	dense   [][]float32
	rows    []rows
}

// pulling is a pull under way.
type pulling struct {
	op   wire.Op
	rows []rows
	done chan struct{}
}

// pushDepth is how many gradients may wait or travel at a time.
const pushDepth = 2

func newAsync(c *Client, params []*optimizer.Param) *asyncSession {
	s := &asyncSession{c: c, params: params, clean: newCleaner(c), changed: make(chan struct{}), dense: make([][]float32, len(params))}
	for i, p := range params {
		s.dense[i] = make([]float32, len(p.W))
		copy(s.dense[i], p.W)
	}
	for range pushDepth {
		g := &gradient{dense: make([][]float32, len(params)), rows: make([]rows, len(c.c.Layout.Embeddings))}
		for i, p := range params {
			g.dense[i] = make([]float32, len(p.G))
		}
		s.free = append(s.free, g)
	}
	s.sender.Go(s.send)
	return s
}

// Begin implements [optimizer.Session].
func (s *asyncSession) Begin(ctx context.Context, st *optimizer.Step) error {
	if err := checkStep(s.c, st); err != nil {
		return err
	}
	p := s.takeNext(st)
	if p == nil {
		p = s.ask(opOf(st), st, func(r *optimizer.Rows) []uint64 { return r.IDs })
	}
	if err := s.await(ctx, p.done); err != nil {
		return err
	}
	for e := range st.Rows {
		copy(st.Rows[e].W, p.rows[e].data)
	}
	s.putBack(p)
	s.install()
	if !st.Eval && knowsNext(st) {
		next := s.ask(wire.OpStep, st, func(r *optimizer.Rows) []uint64 { return r.Next })
		s.mu.Lock()
		s.next = next
		s.mu.Unlock()
	}
	return nil
}

func opOf(st *optimizer.Step) wire.Op {
	if st.Eval {
		return wire.OpPeek
	}
	return wire.OpStep
}

func knowsNext(st *optimizer.Step) bool {
	for e := range st.Rows {
		if st.Rows[e].Next == nil {
			return false
		}
	}
	return len(st.Rows) > 0
}

// takeNext returns the pull that was asked for ahead, if it is for this step.
func (s *asyncSession) takeNext(st *optimizer.Step) *pulling {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.next
	if p == nil || st.Eval {
		return nil
	}
	s.next = nil
	for e := range st.Rows {
		if !slices.Equal(p.rows[e].ids, st.Rows[e].IDs) {
			return nil
		}
	}
	return p
}

// ask gives the sender rows to pull.
func (s *asyncSession) ask(op wire.Op, st *optimizer.Step, ids func(*optimizer.Rows) []uint64) *pulling {
	p := s.room()
	p.op, p.done = op, make(chan struct{})
	for e := range st.Rows {
		p.rows[e].want(ids(&st.Rows[e]), st.Rows[e].Param.Dim())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wanted, s.held = p, false
	s.broadcast()
	return p
}

// room is memory for a pull: that of one before, if it is free.
func (s *asyncSession) room() *pulling {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.spare); n > 0 {
		p := s.spare[n-1]
		s.spare = s.spare[:n-1]
		return p
	}
	return &pulling{rows: make([]rows, len(s.c.c.Layout.Embeddings))}
}

// putBack frees the memory of a pull that is done.
func (s *asyncSession) putBack(p *pulling) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spare = append(s.spare, p)
}

// End implements [optimizer.Session].
func (s *asyncSession) End(ctx context.Context, st *optimizer.Step) error {
	if st.Eval {
		return nil
	}
	dense, push, err := s.clean.clean(s.params, st)
	if err != nil {
		return err
	}
	g, err := s.slot(ctx)
	if err != nil {
		return err
	}
	g.set(st.Samples, dense, push)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, g)
	s.held = s.next != nil
	s.broadcast()
	return nil
}

// slot waits for a gradient's room: the training loop feels it when servers are slow.
func (s *asyncSession) slot(ctx context.Context) (*gradient, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.free) == 0 && s.err == nil {
		s.held = false
		s.broadcast()
		changed := s.changed
		s.mu.Unlock()
		err := s.await(ctx, changed)
		s.mu.Lock()
		if err != nil {
			return nil, err
		}
	}
	if s.err != nil {
		return nil, s.err
	}
	g := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	return g, nil
}

// set copies a step's gradients.
func (g *gradient) set(samples int, dense [][]float32, push []rows) {
	g.samples = samples
	for i, d := range dense {
		copy(g.dense[i], d)
	}
	for e := range push {
		g.rows[e].set(push[e])
	}
}

// install makes the newest dense weights the params'.
func (s *asyncSession) install() {
	s.staged.Lock()
	defer s.staged.Unlock()
	if !s.fresh {
		return
	}
	s.fresh = false
	for i, p := range s.params {
		copy(p.W, s.dense[i])
	}
}

// send is the sender: one request after another, each with the oldest gradient and the pull that is wanted.
func (s *asyncSession) send() {
	x := newExchange(s.c)
	x.dense, x.install = s.dense, &s.staged
	for {
		g, p := s.work()
		if g == nil && p == nil {
			return
		}
		err := s.exchange(x, g, p)
		s.finish(g, p, err)
	}
}

// work waits for something to send; nothing means that the session is closed and empty.
func (s *asyncSession) work() (g *gradient, p *pulling) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.err != nil:
			return nil, nil
		case s.wanted != nil || len(s.queue) > 0 && !s.held:
			if len(s.queue) > 0 && (s.wanted == nil || s.wanted.op == wire.OpStep) {
				g, s.queue = s.queue[0], s.queue[1:]
			}
			p, s.wanted, s.busy = s.wanted, nil, true
			return g, p
		case s.closed && len(s.queue) == 0:
			return nil, nil
		}
		changed := s.changed
		s.mu.Unlock()
		<-changed
		s.mu.Lock()
	}
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
		r.samples, r.dense, r.push, r.step, r.acked = g.samples, g.dense, g.rows, step, acked
	}
	if err := x.run(s.c.life, r); err != nil {
		return describe(err, doing, s.c)
	}
	if g != nil {
		s.c.counts.steps.Add(1)
	}
	if x.arrived > 0 {
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
	s.busy = false
	if g != nil {
		s.free = append(s.free, g)
	}
	if err != nil {
		s.err = err
	} else if p != nil {
		close(p.done)
	}
	s.broadcast()
}

// await waits for done, the session's failure, or ctx.
func (s *asyncSession) await(ctx context.Context, done <-chan struct{}) error {
	for {
		s.mu.Lock()
		err, changed := s.err, s.changed
		s.mu.Unlock()
		if err != nil {
			return err
		}
		select {
		case <-done:
			return nil
		case <-changed:
		case <-ctx.Done():
			return describe(context.Cause(ctx), "waiting for servers", s.c)
		}
	}
}

func (s *asyncSession) drain(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.err == nil && (len(s.queue) > 0 || s.busy || s.wanted != nil) {
		s.held = false
		s.broadcast()
		changed := s.changed
		s.mu.Unlock()
		var err error
		select {
		case <-changed:
		case <-ctx.Done():
			err = describe(context.Cause(ctx), "sending its last gradients", s.c)
		}
		s.mu.Lock()
		if err != nil {
			return err
		}
	}
	return s.err
}

// Close implements [optimizer.Session].
func (s *asyncSession) Close(ctx context.Context) error {
	err := s.drain(ctx)
	s.stop()
	s.c.closed(s)
	return err
}

// stop ends the sender. What is queued still goes if the servers are there.
func (s *asyncSession) stop() {
	s.mu.Lock()
	s.closed, s.held = true, false
	s.broadcast()
	s.mu.Unlock()
	s.sender.Wait()
}

// broadcast wakes everybody who waits. mu is held.
func (s *asyncSession) broadcast() {
	close(s.changed)
	s.changed = make(chan struct{})
}
