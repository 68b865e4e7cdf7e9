package accumulate

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// Session is a training thread whose gradients of k steps make one:
//
//	Σ nᵢgᵢ / Σ nᵢ over the k steps, or Σ gᵢ for a sum
//
// for dense params and, by id, for rows. The steps in between end as evaluations do, so weights stay as they are as far as this
// thread has a say in it.
type Session struct {
	inner  optimizer.Session
	params []*optimizer.Param
	c      strategy.GradientMerge

	over atomic.Bool // an error or Close ended the session

	mu      sync.Mutex // guards what follows: Rest may be called while a step is on its way
	begun   bool       // a step is
	steps   int
	samples int
	loss    float64
	dense   [][]float32 // sums, by param; nil for those that have none
	rows    []optimizer.Rows
	folder  gradient.Folder
}

// New is a session of params that gives inner a step for every c.KSteps.
func New(inner optimizer.Session, params []*optimizer.Param, c strategy.GradientMerge) *Session {
	s := &Session{inner: inner, params: params, c: c, dense: make([][]float32, len(params))}
	for i, p := range params {
		if !p.Embedding && !p.Frozen {
			s.dense[i] = make([]float32, len(p.G))
		}
	}
	return s
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
	s.add(st)
	if s.steps < s.c.KSteps {
		return s.noted(s.inner.End(ctx, &optimizer.Step{Eval: true}))
	}
	merged := s.take()
	for e := range merged.Rows {
		merged.Rows[e].Next = st.Rows[e].Next
	}
	return s.noted(s.inner.End(ctx, merged))
}

// add takes a step's gradients in.
func (s *Session) add(st *optimizer.Step) {
	n := float32(st.Samples)
	if s.c.Sum {
		n = 1
	}
	s.steps++
	s.samples += st.Samples
	s.loss += st.Loss * float64(st.Samples)
	for i, sum := range s.dense {
		if sum != nil {
			kernels.Axpy(n, s.params[i].G, sum)
		}
	}
	for e, r := range st.Rows {
		if e == len(s.rows) {
			s.rows = append(s.rows, optimizer.Rows{Param: r.Param})
		}
		s.addRows(&s.rows[e], r, n)
	}
}

func (s *Session) addRows(sum *optimizer.Rows, r optimizer.Rows, n float32) {
	all := s.folder.Fold(r.Param.Dim(), []gradient.Rows{counted(*sum), counted(r)}, []float32{1, n}, strategy.WeightSamples)
	sum.IDs, sum.G = append(sum.IDs[:0], all.IDs...), append(sum.G[:0], all.G...)
	sum.Show, sum.Click = all.AppendClicks(sum.Show[:0], sum.Click[:0])
}

// counted are rows with what is known of their shows and clicks; where a table counts them, a step without any shows each row once.
func counted(r optimizer.Rows) gradient.Rows {
	if r.Param.Entry.Counts() && r.Show == nil {
		r.Show = slices.Repeat([]float32{1}, len(r.IDs))
	}
	return gradient.Rows{IDs: r.IDs, G: r.G, Clicks: gradient.AppendPairs(nil, &r)}
}

// take is the step that the gradients make together, with those of dense params in G, and begins with none. Its rows are valid
// until the next add.
func (s *Session) take() *optimizer.Step {
	st := &optimizer.Step{Samples: s.samples, Loss: s.loss / float64(max(1, s.samples)), Rows: slices.Clone(s.rows)}
	scale := float32(1)
	if !s.c.Sum {
		scale = 1 / float32(max(1, s.samples))
	}
	for i, sum := range s.dense {
		if sum != nil {
			copy(s.params[i].G, sum)
			kernels.Scale(scale, s.params[i].G)
			clear(sum)
		}
	}
	for e := range s.rows {
		r := &s.rows[e]
		kernels.Scale(scale, r.G)
		r.IDs, r.G, r.Show, r.Click = r.IDs[:0], r.G[:0], r.Show[:0], r.Click[:0]
	}
	s.steps, s.samples, s.loss = 0, 0, 0
	return st
}

// ender is a session whose threads wait for each other at the end of a step, which the rest of one can't do: others may have none.
type ender interface {
	EndAlone(ctx context.Context, st *optimizer.Step) error
}

// Rest hands over what has come since the last update, as a step of its own. In the middle of a step it does nothing: what there is
// goes with the steps that follow.
func (s *Session) Rest(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rest(ctx)
}

func (s *Session) rest(ctx context.Context) error {
	if s.steps == 0 || s.begun || s.over.Load() {
		return nil
	}
	empty := &optimizer.Step{Samples: s.samples}
	for _, r := range s.rows {
		empty.Rows = append(empty.Rows, optimizer.Rows{Param: r.Param})
	}
	if err := s.inner.Begin(ctx, empty); err != nil {
		return s.noted(err)
	}
	if alone, ok := s.inner.(ender); ok {
		return s.noted(alone.EndAlone(ctx, s.take()))
	}
	return s.noted(s.inner.End(ctx, s.take()))
}

// Over says whether the session has ended, also while a step is on its way.
func (s *Session) Over() bool { return s.over.Load() }

// Close implements [optimizer.Session]: the rest goes first.
func (s *Session) Close(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.rest(ctx)
	s.over.Store(true)
	return errors.Join(err, s.inner.Close(ctx))
}
