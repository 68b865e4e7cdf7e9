package client

import (
	"context"
	"slices"
	"sync"

	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
)

// asyncSession trains without waiting for pushes: End copies the gradients and returns, and senders of the session's own
// send them, together with the pull of the next batch's rows. While a request is on its way gradients may wait, and be
// merged if the strategy says so; beyond that the training loop waits, so that gradients don't grow stale without bound.
//
// When the next batch is known, its rows are asked for at the beginning of this one and arrive while it computes; with the
// strategy's defaults they then miss at most the updates of this worker's last two steps.
type asyncSession struct {
	c       *Client
	params  []*optimizer.Param
	clean   cleaner
	merger  merger
	senders sync.WaitGroup

	mu      sync.Mutex // guards what follows
	changed chan struct{}
	err     error
	closed  bool
	// held means that a pull will follow at once, which the queued push should travel with.
	held   bool
	free   []*gradient
	queue  []*gradient
	wanted *pulling // asked for, not yet taken by a sender
	next   *pulling // what the next Begin will need
	spare  []*pulling
	busy   int // requests on their way
	// draining means that nothing waits to be merged.
	draining bool
	sent     int // gradients acknowledged since the dense weights were last asked for

	staged sync.Mutex // guards dense and fresh, which senders fill
	dense  [][]float32
	fresh  bool

	from []uint64 // versions of the weights of the step under way, by server
}

// pulling is a pull under way.
type pulling struct {
	op   wire.Op
	rows []rows
	read []uint64 // versions of the weights, by server, when done
	day  int64
	done chan struct{}
}

func newAsync(c *Client, params []*optimizer.Param) *asyncSession {
	s := &asyncSession{c: c, params: params, clean: newCleaner(c), merger: newMerger(c), changed: make(chan struct{}),
		dense: make([][]float32, len(params)), from: make([]uint64, len(c.c.Servers))}
	for i, p := range params {
		s.dense[i] = make([]float32, len(p.W))
		copy(s.dense[i], p.W)
	}
	for range c.c.Strategy.SendQueueSize + c.c.Strategy.ThreadPoolSize {
		s.free = append(s.free, newGradient(c, params))
	}
	s.start()
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
	copy(s.from, p.read)
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
	if p.day != s.c.days.Load() {
		return nil
	}
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
	p.op, p.day, p.done = op, s.c.days.Load(), make(chan struct{})
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
	return &pulling{rows: make([]rows, len(s.c.c.Layout.Embeddings)), read: make([]uint64, len(s.c.c.Servers))}
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
	g := s.mergeable()
	if g != nil {
		s.merger.add(g, st.Samples, dense, push)
	} else {
		if g, err = s.slot(ctx); err != nil {
			return err
		}
		g.set(st.Samples, dense, push)
		g.from = append(g.from[:0], s.from...)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, g)
	s.held = s.next != nil
	s.broadcast()
	return nil
}

// mergeable takes the last gradient out of the queue, if another may be added to it.
func (s *asyncSession) mergeable() *gradient {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.queue)
	if n == 0 || s.queue[n-1].steps >= s.c.c.Strategy.MaxMergeVarNum {
		return nil
	}
	g := s.queue[n-1]
	s.queue = s.queue[:n-1]
	return g
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
	s.draining = true
	defer func() { s.draining = false }()
	for s.err == nil && (len(s.queue) > 0 || s.busy > 0 || s.wanted != nil) {
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

// stop ends the senders. What is queued still goes if the servers are there.
func (s *asyncSession) stop() {
	s.mu.Lock()
	s.closed, s.held = true, false
	s.broadcast()
	s.mu.Unlock()
	s.senders.Wait()
}

// broadcast wakes everybody who waits. mu is held.
func (s *asyncSession) broadcast() {
	close(s.changed)
	s.changed = make(chan struct{})
}
