package fleet

import (
	"context"
	"fmt"

	"github.com/gofleet/gofleet/optimizer"
)

// alone is a session of a process that trains alone: what is not finite in its gradients is treated as on a worker of a cluster,
// before it is in the weights.
type alone struct {
	optimizer.Session
	f      *Fleet
	params []*optimizer.Param
	err    error // that ended the session
}

// openAlone starts a training session of a process that trains alone.
func (f *Fleet) openAlone(params []*optimizer.Param) (optimizer.Session, error) {
	s, err := f.local.Open(params)
	if err != nil {
		return nil, err
	}
	return &alone{Session: s, f: f, params: params}, nil
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
	all := st.Rows
	defer func() { st.Rows = all }()
	var err error
	if st.Rows, err = s.f.tally.Finite(s.f.job.strategy.NotFinite, s.params, all); err != nil {
		s.err = fmt.Errorf("fleet: training: %w", err)
	}
	if err = s.ended(ctx, st); err == nil {
		s.f.tally.Applied(s.Session, st.Rows)
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
