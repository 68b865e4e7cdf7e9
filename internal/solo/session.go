package solo

import (
	"context"
	"fmt"

	"github.com/gofleet/gofleet/optimizer"
)

// session is a training thread. What is not finite in its gradients is treated as on a worker of servers, before it is in the weights.
type session struct {
	optimizer.Session
	t      *Trainer
	params []*optimizer.Param
	step   optimizer.Step // as the tables get it
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
	return &session{Session: inner, t: t, params: params}, nil
}

// End implements [optimizer.Session].
func (s *session) End(ctx context.Context, st *optimizer.Step) error {
	if st.Eval {
		return s.Session.End(ctx, st)
	}
	finite, err := s.t.Tally.Finite(s.t.policy, s.params, st.Rows)
	if err != nil {
		return fmt.Errorf("solo: %w", err)
	}
	s.step = *st
	s.step.Rows = finite
	if err = s.Session.End(ctx, &s.step); err == nil {
		s.t.Tally.Applied(s.Session, finite)
	}
	return err
}
