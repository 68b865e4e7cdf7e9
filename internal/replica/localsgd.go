package replica

import (
	"context"
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/internal/collective"
	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// localSGD is a session that updates this worker's own copy, and sets it to the mean of all copies when [mode.LocalSGD] says so:
//
//	d = snapshot − w;  w = snapshot − (Σ over workers d)/N;  snapshot = w
//
// When an epoch ends all copies are set to the mean too, so that a checkpoint between epochs is of one model.
type localSGD struct {
	t      *Trainer
	inner  optimizer.Session
	intake *gradient.Intake
	*drift
}

// drift is how far this worker's copy has gone from the others'. All sessions of a trainer share it.
type drift struct {
	names    []string    // of the dense params that are trained
	snapshot [][]float32 // what they were when all copies were the same
	d        [][]float32
	loss     []float32
	at       progress.Position // of this worker, behind its last step
	turns    mode.LocalSGD
}

// driftsBy says whether workers' copies go their own ways, and when they meet.
func driftsBy(s strategy.Strategy) (mode.LocalSGD, bool) {
	if a := s.AdaptiveLocalSGD; a.InitKSteps > 0 {
		return mode.LocalSGD{K: a.InitKSteps, Begin: a.BeginStep, Adaptive: true}, true
	}
	return mode.LocalSGD{K: s.LocalSGD.KSteps, Begin: s.LocalSGD.BeginStep}, s.LocalSGD.KSteps > 0
}

// checkLocalSGD refuses what copies that differ for a while can't do.
func checkLocalSGD(c Config) error {
	if name := c.Rule.Name(); name != (optimizer.SGD{}).Name() && name != (optimizer.Momentum{}).Name() {
		return fmt.Errorf("replica: localsgd with rule %s: it is for SGD and Momentum", name)
	}
	for _, p := range c.Params {
		if p.Embedding {
			return fmt.Errorf("replica: localsgd with embedding %q: workers would not touch the same rows; leave localsgd out", p.Name)
		}
	}
	return nil
}

// drifting is the trainer's drift, from the weights that all have when they begin.
func (t *Trainer) drifting() (*drift, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.drift != nil {
		return t.drift, nil
	}
	turns, _ := driftsBy(t.c.Strategy)
	d := &drift{loss: []float32{0}, turns: turns}
	for _, p := range t.c.Params {
		if p.Frozen {
			continue
		}
		w, err := t.Local().Dense(p.Name)
		if err != nil {
			return nil, err
		}
		d.names, d.snapshot, d.d = append(d.names, p.Name), append(d.snapshot, w), append(d.d, make([]float32, len(w)))
	}
	t.drift = d
	return d, nil
}

// Begin implements [optimizer.Session].
func (s *localSGD) Begin(ctx context.Context, st *optimizer.Step) error {
	return s.inner.Begin(ctx, st)
}

// End implements [optimizer.Session].
func (s *localSGD) End(ctx context.Context, st *optimizer.Step) error {
	if st.Eval {
		return s.inner.End(ctx, st)
	}
	if _, err := s.intake.Take(st); err != nil {
		err = s.t.named(err)
		s.t.group.Fail(ctx, err)
		return err
	}
	own := s.t.Reading().Trained(st.Thread, st.Threads, st.Samples, st.Number)
	if err := s.t.Count(func() error { return s.inner.End(ctx, st) }, func() { s.t.movedTo(s.t.c.Group.Rank, own) }); err != nil {
		return err
	}
	s.at = own
	s.t.Tally.Applied(s.inner, 0)
	s.loss[0] = float32(st.Loss)
	if !s.turns.Step() {
		return nil
	}
	_, err := s.exchange(ctx, false)
	return err
}

// exchange sets all copies to their mean. all says that every worker has ended its epoch.
func (s *localSGD) exchange(ctx context.Context, ended bool) (all bool, err error) {
	for i, name := range s.names {
		w, err := s.t.Local().Dense(name)
		if err != nil {
			return false, err
		}
		mode.Drift(s.d[i], s.snapshot[i], w)
	}
	loss := slices.Clone(s.loss) // becomes the mean
	p := collective.Part{Weight: 1, Ended: ended, News: s.t.hasNews(), At: s.at}
	m, err := s.t.group.Mean(ctx, p, append(slices.Clone(s.d), loss)...)
	if err == nil && m.News {
		err = s.t.takeRate(ctx)
	}
	if err != nil {
		return false, s.t.named(err)
	}
	for i := range s.names {
		mode.Return(s.snapshot[i], s.d[i])
	}
	if err := s.t.Count(func() error { return s.t.Local().SetAllDense(s.names, s.snapshot) }, func() { s.t.moved(m.At) }); err != nil {
		return false, err
	}
	if err := s.turns.Met(s.t.rateOf(s.t.c.Rule, s.turns.Steps()), float64(loss[0])); err != nil {
		return false, err
	}
	return m.Ended == s.t.group.Ranks(), nil
}

// park takes part in exchanges until every worker has ended its epoch.
func (s *localSGD) park(ctx context.Context) error {
	for {
		all, err := s.exchange(ctx, true)
		if all || err != nil {
			return err
		}
	}
}

// Close implements [optimizer.Session].
func (s *localSGD) Close(ctx context.Context) error { return s.inner.Close(ctx) }
