package accumulate

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// Session is a training thread whose gradients of k steps make one, as [gradient.Accumulator] says. The steps in
// between end as evaluations do, so weights stay as they are as far as this thread has a say in it.
type Session struct {
	inner optimizer.Session
	every int // steps

	over atomic.Bool // an error or Close ended the session

	mu    sync.Mutex // guards what follows: Flush may be called while a step is on its way
	begun bool       // a step is
	sum   *gradient.Accumulator
}

// New is a session of params that gives inner a step for every c.KSteps.
func New(inner optimizer.Session, params []*optimizer.Param, c strategy.GradientMerge) *Session {
	return &Session{inner: inner, every: c.KSteps, sum: gradient.NewAccumulator(params, c.Sum)}
}

// Begin implements [optimizer.Session].
func (s *Session) Begin(ctx context.Context, st *optimizer.Step) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = true
	return s.noted(s.inner.Begin(ctx, st))
}

// noted remembers that the session is over after an error.
func (s *Session) noted(err error) error {
	if err != nil {
		s.over.Store(true)
	}
	return err
}

// End implements [optimizer.Session]. G of the params is scratch afterwards.
func (s *Session) End(ctx context.Context, st *optimizer.Step) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = false
	if st.Eval {
		return s.noted(s.inner.End(ctx, st))
	}
	if err := s.sum.Add(st); err != nil {
		return s.noted(err)
	}
	if s.sum.Steps() < s.every {
		return s.noted(s.inner.End(ctx, &optimizer.Step{Eval: true}))
	}
	return s.noted(s.inner.End(ctx, s.sum.Take(st)))
}

// ender is a session whose threads wait for each other at the end of a step. A flush can't wait: the others may have
// nothing to flush.
type ender interface {
	EndAlone(ctx context.Context, st *optimizer.Step) error
}

// Flush hands over what has come since the last update, as a step of its own. In the middle of a step it does nothing:
// what there is goes with the steps that follow.
func (s *Session) Flush(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flush(ctx)
}

func (s *Session) flush(ctx context.Context) error {
	if s.sum.Steps() == 0 || s.begun || s.over.Load() {
		return nil
	}
	if err := s.inner.Begin(ctx, s.sum.Empty()); err != nil {
		return s.noted(err)
	}
	if alone, ok := s.inner.(ender); ok {
		return s.noted(alone.EndAlone(ctx, s.sum.Take(nil)))
	}
	return s.noted(s.inner.End(ctx, s.sum.Take(nil)))
}

// Over says whether the session has ended, also while a step is on its way.
func (s *Session) Over() bool { return s.over.Load() }

// Close implements [optimizer.Session]: the rest goes first.
func (s *Session) Close(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.flush(ctx)
	s.over.Store(true)
	return errors.Join(err, s.inner.Close(ctx))
}
