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
}

// pulls are a session's pulls, guarded by the session's mu.
type pulls struct {
	wanted [3]*pulling // by mode.Pull: requested, not yet sent
	next   *pulling    // for the next Begin
	spare  []*pulling
}

// rowsFor returns the pull that a step needs: the one that was requested ahead, or a new one. A pull for other ids than
// the step's is dropped when it arrives.
func (s *asyncSession) rowsFor(st *optimizer.Step) (*pulling, error) {
	if p := s.takeNext(st); p != nil {
		return p, nil
	}
	p := s.newPulling(st, idsOf)
	kind := mode.PullRows
	if st.Eval {
		kind = mode.PullPeek
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return p, s.ask(kind, p)
}

// takeNext returns the pull that was requested ahead, if it is for this step; nil means that the step needs a pull of
// its own.
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
	return p
}

// lookAhead requests what the next step will need. The caller holds mu. There is one such pull at a time.
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
	for s.queue.Late() {
		if err := s.sleep(ctx, "waiting for servers"); err != nil {
			return err
		}
	}
	return s.failure()
}

// newPulling makes a pull for some ids of a step.
func (s *asyncSession) newPulling(st *optimizer.Step, ids func(*optimizer.Rows) []uint64) *pulling {
	p := s.room()
	p.op = opOf(st)
	p.want(s.w, st, ids)
	return p
}

// ask passes a pull to the queue. The caller holds mu. It fails if the queue accepts nothing more.
func (s *asyncSession) ask(kind mode.Pull, p *pulling) error {
	if !s.queue.Want(kind) {
		return s.over()
	}
	s.pulls.wanted[kind] = p
	s.act()
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
	s.pulls.spare = append(s.pulls.spare, p)
}

// await waits until a pull is done, the session has failed, or ctx ends.
func (s *asyncSession) await(ctx context.Context, p *pulling) error {
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
