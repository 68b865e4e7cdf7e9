package fleet

import (
	"context"
	"fmt"

	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/optimizer"
)

// ordered holds a training thread to the order of a session's calls: Begin and End alternate, Begin first, and after an
// error or Close there are none. A step out of order would be pushed again, or make others wait.
type ordered struct {
	inner   optimizer.Session
	worker  int
	reading *progress.Tracker
	leave   func() // that it trains is taken back; nil before it does
	goesOn  func() // for each step whose context lives
	begun   bool
	eval    bool // the step that has begun is an evaluation
	closed  bool
	err     error
}

// Begin implements [optimizer.Session].
func (s *ordered) Begin(ctx context.Context, st *optimizer.Step) error {
	switch {
	case s.err != nil:
	case s.begun:
		s.refuse("Begin follows Begin: the step before was not ended")
	default:
		if ctx.Err() == nil {
			s.goesOn()
		}
		if s.leave == nil && !st.Eval {
			s.leave = s.reading.Enter(st.Thread, st.Threads)
		}
		s.err = s.inner.Begin(ctx, st)
		s.begun, s.eval = s.err == nil, st.Eval
	}
	return s.err
}

// End implements [optimizer.Session].
func (s *ordered) End(ctx context.Context, st *optimizer.Step) error {
	switch {
	case s.err != nil:
	case !s.begun:
		s.refuse("End without Begin")
	case s.eval != st.Eval:
		s.refuse(fmt.Sprintf("a step began with Eval %t and ends with Eval %t", s.eval, st.Eval))
	default:
		s.err = s.inner.End(ctx, st)
		s.begun = false
	}
	return s.err
}

// Close implements [optimizer.Session]. It may be called twice.
func (s *ordered) Close(ctx context.Context) error {
	if s.closed {
		return nil
	}
	s.closed = true
	if s.err == nil {
		s.refuse("the session is closed")
	}
	if s.leave != nil {
		defer s.leave()
	}
	return s.inner.Close(ctx)
}

func (s *ordered) refuse(why string) {
	s.err = fmt.Errorf("fleet: training: worker %d: %s: %w", s.worker, why, ErrOrder)
}
