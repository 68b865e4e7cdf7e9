package session

import (
	"context"

	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
)

// pulling is a pull of an asynchronous session, with its memory, which is reused. The training thread fills it, it
// belongs to a sender until done, then the thread reads it and puts it back.
type pulling struct {
	fetched
	op   wire.Op
	read []uint64      // by server: versions of the weights, when done
	done chan struct{} // has an element when it is done
	// waits says that the thread makes the request itself, when its turn comes; guarded by the session's mu.
	waits bool
}

// pulls are a session's pulls, guarded by the session's mu.
type pulls struct {
	wanted [3]*pulling // by mode.Pull: requested, not yet sent
	next   *pulling    // for the next Begin
	spare  []*pulling
}

// pullNow pulls the rows of a step, with the gradient that waits to be sent. The training thread makes this request
// itself, in its turn, so that rows arrive in the step, and no other goroutine is waited for. p was requested ahead and
// not sent; nil if it was not requested.
func (s *asyncSession) pullNow(ctx context.Context, st *optimizer.Step, p *pulling) error {
	kind := mode.PullRows
	if st.Eval {
		kind = mode.PullPeek
	}
	asked := p != nil
	if !asked {
		p = s.newPulling(st, idsOf)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p.waits = true
	if !asked {
		if err := s.ask(kind, p); err != nil {
			return err
		}
	}
	err := s.await(ctx, func() bool { pull, ok := s.queue.Ready(); return ok && pull == kind })
	longer := ctx
	if err == nil {
		// before the look at ctx: with a gradient the request must not end with it
		longer = s.x.Linger(ctx, s.w.Strategy.HeartbeatInterval.Std())
		err = describe(context.Cause(ctx), "pulling", s.w)
	}
	if err != nil {
		p.waits = false // a sender makes the request, for nobody
		s.act()
		return err
	}
	t := s.next()
	s.act()
	s.mu.Unlock()
	err = s.makeNow(ctx, longer, t, st)
	s.mu.Lock()
	s.spared(p)
	return err
}

// makeNow makes the request of the thread's own pull. With a gradient it ends with longer; without one, the end of ctx
// is no failure of the session.
func (s *asyncSession) makeNow(ctx, longer context.Context, t task, st *optimizer.Step) error {
	if t.g != nil {
		ctx = longer
	}
	err := s.make(ctx, s.x, t, own(s.now, st))
	failure := err
	if copy(s.from, t.p.read); t.g == nil && ctx.Err() != nil {
		failure = nil
	}
	s.answered(t, failure)
	return err
}

// takeNext returns the pull that was requested ahead, if it is for this step, and waits if it was not sent; nil means
// that the step needs a pull of its own.
func (s *asyncSession) takeNext(st *optimizer.Step) *pulling {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pulls.next
	if p == nil || st.Eval {
		return nil
	}
	s.pulls.next = nil
	if !p.match(s.w, st) {
		return nil
	}
	p.waits = s.pulls.wanted[mode.PullRows] == p
	return p
}

// lookAhead requests what the next step will need. The caller holds mu, and acts. There is one such pull at a time.
func (s *asyncSession) lookAhead(next *pulling) error {
	if err := s.ask(mode.PullRows, next); err != nil {
		return err
	}
	s.pulls.next = next
	return nil
}

// denseCame waits for the dense weights that a step without rows should begin with. The queue decides how late weights
// may be.
func (s *asyncSession) denseCame(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.await(ctx, func() bool { return !s.queue.Late() })
}

// newPulling makes a pull for some ids of a step.
func (s *asyncSession) newPulling(st *optimizer.Step, ids func(*optimizer.Rows) []uint64) *pulling {
	p := s.room()
	p.op = opOf(st)
	p.want(s.w, st, ids)
	return p
}

// ask passes a pull to the queue. The caller holds mu, and acts. It fails if the queue accepts nothing more.
func (s *asyncSession) ask(kind mode.Pull, p *pulling) error {
	if !s.queue.Want(kind) {
		return s.over()
	}
	s.pulls.wanted[kind] = p
	return nil
}

// room is memory for a pull: that of an earlier one, if one is free.
func (s *asyncSession) room() *pulling {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.pulls.spare); n > 0 {
		p := s.pulls.spare[n-1]
		s.pulls.spare = s.pulls.spare[:n-1]
		return p
	}
	return &pulling{fetched: newFetched(s.w), read: make([]uint64, len(s.w.Layout.Parts)), done: make(chan struct{}, 1)}
}

// putBack frees the memory of a pull that is done; no sender uses it then.
func (s *asyncSession) putBack(p *pulling) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spared(p)
}

// spared is putBack for a caller that holds mu.
func (s *asyncSession) spared(p *pulling) {
	p.waits = false
	s.pulls.spare = append(s.pulls.spare, p)
}

// arrive waits until a pull is done, the session has failed, or ctx ends.
func (s *asyncSession) arrive(ctx context.Context, p *pulling) error {
	select {
	case <-s.failed: // even if the pull has arrived
		return s.fails()
	default:
	}
	select {
	case <-p.done:
		return nil
	case <-s.failed:
		return s.fails()
	case <-ctx.Done():
		return describe(context.Cause(ctx), "waiting for servers", s.w)
	}
}

// fails is failure for a caller that does not hold mu.
func (s *asyncSession) fails() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure()
}
