package replica

import (
	"context"

	"github.com/gofleet/gofleet/internal/collective"
	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// session is a thread's training session that can also take part in the steps of others.
type session interface {
	optimizer.Session
	park(ctx context.Context) error
}

// session makes the kind of session that the strategy asks for.
func (t *Trainer) session(params []*optimizer.Param) (session, error) {
	inner, err := t.Local().Open(params)
	if err != nil {
		return nil, err
	}
	st := t.c.Strategy
	if _, ok := driftsBy(st); ok {
		d, err := t.drifting()
		return &localSGD{Session: inner, t: t, intake: t.Intake(params), drift: d}, err
	}
	return newEveryStep(t, params, inner), nil
}

// everyStep averages gradients in every step.
type everyStep struct {
	optimizer.Session // that updates this worker's copy
	t                 *Trainer
	dense             [][]float32 // the gradients of the dense params that are trained
	rows              merger
	intake            *gradient.Intake
}

func newEveryStep(t *Trainer, params []*optimizer.Param, inner optimizer.Session) *everyStep {
	s := &everyStep{Session: inner, t: t, rows: newMerger(params, t.c.Strategy.Weighting), intake: t.Intake(params)}
	for _, p := range params {
		if !p.Embedding && !p.Frozen {
			s.dense = append(s.dense, p.G)
		}
	}
	return s
}

// End implements [optimizer.Session]. It overwrites G of the params.
func (s *everyStep) End(ctx context.Context, st *optimizer.Step) error {
	if st.Eval {
		return s.Session.End(ctx, st)
	}
	own, err := s.intake.Take(st)
	if err != nil {
		return s.failed(ctx, err)
	}
	p := collective.Part{Weight: s.weight(st), At: s.t.trained(st)}
	if _, err = s.update(ctx, p, own.Rows); err != nil {
		return err
	}
	s.t.Tally.Applied(s.Session, own.NumRows())
	return nil
}

// weight is the weight of a step's gradients.
func (s *everyStep) weight(st *optimizer.Step) uint32 {
	if s.t.c.Strategy.Weighting == strategy.WeightSamples {
		return uint32(st.Samples)
	}
	return 1
}

// update makes one update together with the others. all reports that every worker has ended its epoch, and that no
// update was made.
func (s *everyStep) update(ctx context.Context, p collective.Part, rows []gradient.Rows) (all bool, err error) {
	p.News = s.t.hasNews()
	m, err := s.t.group.Mean(ctx, p, s.dense...)
	if err == nil && m.News {
		err = s.t.takeRate(ctx)
	}
	if err != nil {
		return false, s.t.named(err)
	}
	merged := optimizer.Step{Samples: int(m.Weight)}
	if all = m.Ended == s.t.group.Ranks(); all {
		merged.Eval = true
		return all, s.Session.End(ctx, &merged)
	}
	if s.rows.any() {
		if merged.Rows, err = s.rows.merge(ctx, s.t.group, p, rows); err != nil {
			return false, s.t.named(err)
		}
	}
	return false, s.t.Steps.Count(func() error { return s.Session.End(ctx, &merged) }, func() { s.t.moved(m.At) })
}

// park takes part in updates until every worker has ended its epoch.
func (s *everyStep) park(ctx context.Context) error {
	for {
		if err := s.Session.Begin(ctx, &optimizer.Step{}); err != nil {
			return err
		}
		all, err := s.update(ctx, collective.Part{Ended: true}, nil)
		if all || err != nil {
			return err
		}
	}
}

// failed ends the job for the others too.
func (s *everyStep) failed(ctx context.Context, err error) error {
	err = s.t.named(err)
	s.t.group.Fail(ctx, err)
	return err
}
