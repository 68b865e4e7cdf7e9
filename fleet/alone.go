package fleet

import (
	"context"
	"fmt"

	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/optimizer"
)

// alone is a session of a process that trains alone: what is not finite in its gradients is treated as on a worker of a cluster,
// before it is in the weights.
type alone struct {
	optimizer.Session
	f      *Fleet
	intake *gradient.Intake
	rows   []optimizer.Rows // by embedding: what is left of a step's
	err    error            // that ended the session
}

// openAlone starts a training session of a process that trains alone.
func (f *Fleet) openAlone(params []*optimizer.Param) (optimizer.Session, error) {
	s, err := f.local.Open(params)
	if err != nil {
		return nil, err
	}
	guard := gradient.Guard{Policy: f.job.strategy.NotFinite, Seen: &f.tally.NotFinite}
	a := &alone{Session: s, f: f, intake: gradient.NewIntake(params, guard, nil)}
	for _, p := range params {
		if p.Embedding {
			a.rows = append(a.rows, optimizer.Rows{Param: p})
		}
	}
	return a, nil
}

// Begin implements [optimizer.Session].
func (s *alone) Begin(ctx context.Context, st *optimizer.Step) error {
	if s.err != nil {
		return s.err
	}
	return s.Session.Begin(ctx, st)
}

// End implements [optimizer.Session].
func (s *alone) End(ctx context.Context, st *optimizer.Step) error {
	if s.err != nil || st.Eval {
		return s.ended(ctx, st)
	}
	own, err := s.intake.Take(st)
	if err != nil {
		s.err = fmt.Errorf("fleet: training: %w", err)
		return s.err
	}
	for e, r := range own.Rows {
		r.Into(&s.rows[e])
	}
	err = s.ended(ctx, &optimizer.Step{Samples: st.Samples, Loss: st.Loss, Rows: s.rows})
	if err == nil {
		s.f.tally.Applied(s.Session, own.NumRows())
	}
	return err
}

// ended ends a step, unless the session is over.
func (s *alone) ended(ctx context.Context, st *optimizer.Step) error {
	if s.err != nil {
		return s.err
	}
	return s.Session.End(ctx, st)
}
