package solo

import (
	"context"

	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/optimizer"
)

// session is a training thread. It handles gradients that are not finite as a worker of servers does, before the
// update.
type session struct {
	optimizer.Session
	t      *Trainer
	intake *gradient.Intake
	// step has the memory of the copied gradients, which may be others than the thread's.
	step optimizer.Step // the step as the tables get it
}

// Open implements [optimizer.Trainer].
func (t *Trainer) Open(params []*optimizer.Param) (optimizer.Session, error) {
	if err := t.Whole(); err != nil {
		return nil, err
	}
	inner, err := t.local.Open(params)
	if err != nil {
		return nil, err
	}
	s := &session{Session: inner, t: t, intake: t.Intake(params)}
	for _, p := range params {
		if p.Embedding {
			s.step.Rows = append(s.step.Rows, optimizer.Rows{Param: p})
		}
	}
	return s, nil
}

// Intake returns the intake of gradients of a session of params. The update clips.
func (t *Trainer) Intake(params []*optimizer.Param) *gradient.Intake {
	return gradient.NewIntake(params, t.rule, gradient.Guard{Policy: t.policy, Seen: &t.Tally.NotFinite}, nil)
}

// End implements [optimizer.Session]. The samples are counted when the update is made, together with it.
func (s *session) End(ctx context.Context, st *optimizer.Step) error {
	if st.Eval {
		return s.Session.End(ctx, st)
	}
	own, err := s.intake.Take(st)
	if err != nil {
		return err
	}
	for e, r := range own.Rows {
		r.Into(&s.step.Rows[e])
	}
	s.step.Samples, s.step.Loss = st.Samples, st.Loss
	update := func() error { return s.Session.End(ctx, &s.step) }
	if err = s.t.Steps.Count(update, func() { s.t.Steps.trained(st) }); err == nil {
		s.t.Tally.Applied(s.Session, own.NumRows())
	}
	return err
}
