package job

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// mergedSession is a training thread's session that merges the gradients of k steps into one, as [gradient.Accumulator]
// does. The inner session ends the steps in between as evaluations, so this thread does not change weights with them.
type mergedSession struct {
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

// newMerged returns a session of params that gives inner one training step for every c.KSteps.
func newMerged(inner optimizer.Session, params []*optimizer.Param, c strategy.GradientMerge) *mergedSession {
	return &mergedSession{inner: inner, every: c.KSteps, turn: make(chan struct{}, 1), params: params,
		sum: gradient.NewAccumulator(params, c.Sum)}
}

// Frozen returns the values that frozen dense params had at the last update, by name, while gradients are merged that
// no update has: a job that goes on from that update makes their steps again. It returns nil otherwise.
func (s *mergedSession) Frozen() map[string][]float32 {
	if all := s.frozen.Load(); all != nil {
		return *all
	}
	return nil
}

// keepFrozen keeps the values of frozen params, which the first step of a sum leaves as they were until it has ended.
func (s *mergedSession) keepFrozen() {
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
func (s *mergedSession) push(ctx context.Context, last *optimizer.Step,
	end func(context.Context, *optimizer.Step) error) error {
	err := s.noted(end(ctx, s.sum.Take(last)))
	if err == nil {
		s.frozen.Store(nil)
	}
	return err
}

// Begin implements [optimizer.Session].
func (s *mergedSession) Begin(ctx context.Context, st *optimizer.Step) error {
	s.step(true)
	return s.noted(s.inner.Begin(ctx, st))
}

// step notes that a step begins or has ended. It waits for a flush.
func (s *mergedSession) step(begun bool) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.begun = begun
}

// noted records that the session is over after an error.
func (s *mergedSession) noted(err error) error {
	if err != nil {
		s.over.Store(true)
	}
	return err
}

// End implements [optimizer.Session]. G of the params is scratch afterwards.
func (s *mergedSession) End(ctx context.Context, st *optimizer.Step) error {
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
func (s *mergedSession) Flush(ctx context.Context) error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	return s.flush(ctx)
}

func (s *mergedSession) flush(ctx context.Context) error {
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
func (s *mergedSession) Over() bool { return s.over.Load() }

// Close implements [optimizer.Session]. It flushes first.
func (s *mergedSession) Close(ctx context.Context) error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	err := s.flush(ctx)
	s.over.Store(true)
	return errors.Join(err, s.inner.Close(ctx))
}

// merging has the sessions that push once in several steps.
type merging struct {
	mu       sync.Mutex
	sessions []*mergedSession
}

// add registers a session that merges steps by Strategy.GradientMerge, and returns it.
func (m *merging) add(s *mergedSession) *mergedSession {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sessions = append(slices.DeleteFunc(m.sessions, (*mergedSession).Over), s)
	return s
}

// frozen returns the values of frozen dense params at the last update, by name, of those that steps since have moved
// whose gradients are in no update yet. A session that an error has ended, as when its role is asked to end, counts too
// until another is opened: its gradients are lost.
func (m *merging) frozen() map[string][]float32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.sessions {
		if all := s.Frozen(); all != nil {
			return all
		}
	}
	return nil
}

// flush pushes the gradients that sessions have merged so far, since no more come at an epoch's end.
func (m *merging) flush(ctx context.Context) error {
	m.mu.Lock()
	merged := slices.Clone(m.sessions)
	m.mu.Unlock()
	errs := make([]error, len(merged))
	var wg sync.WaitGroup
	for i, m := range merged {
		wg.Go(func() { errs[i] = m.Flush(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
