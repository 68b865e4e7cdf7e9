package accumulate

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// Session is a training thread's session that merges the gradients of k steps into one, as [gradient.Accumulator] does.
// The inner session ends the steps in between as evaluations, so this thread does not change weights with them.
type Session struct {
	inner optimizer.Session
	every int // steps

	over atomic.Bool // set by an error or Close

	// turn guards what follows, and has an element while it is taken: Flush may be called during a step. No one has it
	// while a step waits for other threads, one of which may be the one that flushes.
	turn  chan struct{}
	begun bool // a step is under way, and has the sum to itself
	sum   *gradient.Accumulator

	params []*optimizer.Param
	// frozen has the values of frozen dense params at the last update, by name; nil if the sum is empty. Each of the
	// steps since may have moved them, as batch norm does.
	frozen atomic.Pointer[map[string][]float32]
}

// New returns a session of params that gives inner one training step for every c.KSteps.
func New(inner optimizer.Session, params []*optimizer.Param, c strategy.GradientMerge) *Session {
	return &Session{inner: inner, every: c.KSteps, turn: make(chan struct{}, 1), params: params,
		sum: gradient.NewAccumulator(params, c.Sum)}
}

// Frozen returns the values that frozen dense params had at the last update, by name, while gradients are merged that
// no update has: a job that goes on from that update makes their steps again. It returns nil otherwise.
func (s *Session) Frozen() map[string][]float32 {
	if all := s.frozen.Load(); all != nil {
		return *all
	}
	return nil
}

// keepFrozen keeps the values of frozen params, which the first step of a sum leaves as they were until it has ended.
func (s *Session) keepFrozen() {
	all := map[string][]float32{}
	for _, p := range s.params {
		if p.Frozen && !p.Embedding {
			all[p.Name] = slices.Clone(p.W)
		}
	}
	s.frozen.Store(&all)
}

// push ends a step with the whole sum, which is empty then, by end. The values of the last update count until it has
// succeeded: after an error, as when the role is asked to end, the sum is lost, or in an update that has a position.
func (s *Session) push(ctx context.Context, last *optimizer.Step,
	end func(context.Context, *optimizer.Step) error) error {
	err := s.noted(end(ctx, s.sum.Take(last)))
	if err == nil {
		s.frozen.Store(nil)
	}
	return err
}

// Begin implements [optimizer.Session].
func (s *Session) Begin(ctx context.Context, st *optimizer.Step) error {
	s.step(true)
	return s.noted(s.inner.Begin(ctx, st))
}

// step notes that a step begins or has ended. It waits for a flush.
func (s *Session) step(begun bool) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.begun = begun
}

// noted records that the session is over after an error.
func (s *Session) noted(err error) error {
	if err != nil {
		s.over.Store(true)
	}
	return err
}

// End implements [optimizer.Session]. G of the params is scratch afterwards.
func (s *Session) End(ctx context.Context, st *optimizer.Step) error {
	defer s.step(false)
	if st.Eval {
		return s.noted(s.inner.End(ctx, st))
	}
	if err := s.sum.Add(st); err != nil {
		return s.noted(err)
	}
	if s.sum.Steps() == 1 {
		s.keepFrozen()
	}
	if s.sum.Steps() < s.every {
		return s.noted(s.inner.End(ctx, &optimizer.Step{Eval: true}))
	}
	return s.push(ctx, st, s.inner.End)
}

// ender is a session whose threads wait for each other at the end of a step. Flush ends its step alone, since the other
// threads may have nothing to flush.
type ender interface {
	EndAlone(ctx context.Context, st *optimizer.Step) error
}

// Flush makes an update of the gradients since the last one, as a step of its own. During a step it does nothing: these
// gradients go with the steps that follow.
func (s *Session) Flush(ctx context.Context) error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	return s.flush(ctx)
}

func (s *Session) flush(ctx context.Context) error {
	if s.begun || s.sum.Steps() == 0 || s.over.Load() {
		return nil
	}
	if err := s.inner.Begin(ctx, s.sum.Empty()); err != nil {
		return s.noted(err)
	}
	if alone, ok := s.inner.(ender); ok {
		return s.push(ctx, nil, alone.EndAlone)
	}
	return s.push(ctx, nil, s.inner.End)
}

// Over reports whether the session has ended. It may be called during a step.
func (s *Session) Over() bool { return s.over.Load() }

// Close implements [optimizer.Session]. It flushes first.
func (s *Session) Close(ctx context.Context) error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	err := s.flush(ctx)
	s.over.Store(true)
	return errors.Join(err, s.inner.Close(ctx))
}
