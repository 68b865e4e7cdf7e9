package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/gofleet/gofleet/internal/accumulate"
	"github.com/gofleet/gofleet/optimizer"
)

// trainer is the trainer of an objective.
type trainer struct{ f *Fleet }

// Open implements [optimizer.Trainer].
func (t trainer) Open(params []*optimizer.Param) (optimizer.Session, error) {
	j, err := t.f.workerCall("training")
	if err != nil {
		return nil, err
	}
	if err := t.f.saving.joined(j); err != nil {
		return nil, named("training", err)
	}
	s, err := j.backend.Open(params)
	if err != nil {
		return nil, named("training", err)
	}
	t.f.statistics.begun()
	if c := j.strategy.GradientMerge; c.KSteps > 1 {
		m := accumulate.New(s, params, c)
		t.f.merged.add(m)
		s = m
	}
	return &ordered{inner: s, worker: t.f.id.Index, reading: j.backend.Reading(), goesOn: t.f.saving.goesOn,
		trains: func() error { return t.f.saving.trains(j) }, meter: &t.f.meter}, nil
}

// Looks is an optional method of [optimizer.Trainer].
func (t trainer) Looks() bool {
	j, err := t.f.workerCall("training")
	if err != nil {
		return false
	}
	l, is := j.backend.(interface{ Looks() bool })
	return is && l.Looks()
}

// EndEpoch implements [optimizer.Trainer].
func (t trainer) EndEpoch(ctx context.Context) error {
	b, err := t.f.between(ctx, "EndEpoch")
	if err != nil {
		return err
	}
	return named("EndEpoch", b.EndEpoch(ctx))
}

// SetDense sets the values of a frozen dense param in this process: values that training computes without gradients,
// such as the statistics of batch norm.
func (t trainer) SetDense(name string, w []float32) error {
	j, err := t.f.workerCall("training")
	if err != nil {
		return err
	}
	i := slices.IndexFunc(j.layout.Params, func(p *optimizer.Param) bool { return p.Name == name })
	if i < 0 || j.layout.Params[i].Embedding || !j.layout.Params[i].Frozen {
		return fmt.Errorf("fleet: training: param %q is given values, which only a dense and frozen param takes", name)
	}
	err = j.backend.SetDense(name, w)
	if err == nil && !t.f.id.Local() {
		t.f.statistics.set(name, w)
	}
	return named("training", err)
}

// merging has the sessions that push once in several steps.
type merging struct {
	mu       sync.Mutex
	sessions []*accumulate.Session
}

// add registers a session that merges steps by Strategy.GradientMerge.
func (m *merging) add(s *accumulate.Session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sessions = append(slices.DeleteFunc(m.sessions, (*accumulate.Session).Over), s)
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
