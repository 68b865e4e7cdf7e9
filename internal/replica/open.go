package replica

import (
	"context"
	"errors"

	"github.com/gofleet/gofleet/optimizer"
)

// Open implements [optimizer.Trainer].
func (t *Trainer) Open(params []*optimizer.Param) (optimizer.Session, error) {
	if _, err := t.ready(); err != nil {
		return nil, err
	}
	s, err := t.session(params)
	if err != nil {
		return nil, err
	}
	return &opened{s, t}, nil
}

// opened is a session that registers with the trainer when it trains. A session that only evaluates does not.
type opened struct {
	session
	t *Trainer
}

// Begin implements [optimizer.Session].
func (o *opened) Begin(ctx context.Context, st *optimizer.Step) error {
	if !st.Eval {
		if err := o.t.admit(o); err != nil {
			return err
		}
	}
	return o.session.Begin(ctx, st)
}

// admit lets one session train.
func (t *Trainer) admit(o *opened) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.trains != nil && t.trains != o {
		return errors.New("a worker of a collective job trains with one session: close the other one first")
	}
	t.trains = o
	return nil
}

// Close implements [optimizer.Session].
func (o *opened) Close(ctx context.Context) error {
	o.t.mu.Lock()
	if o.t.trains == o {
		o.t.trains = nil
	}
	o.t.mu.Unlock()
	return o.session.Close(ctx)
}

// EndEpoch implements [optimizer.Trainer]. This worker takes part in the steps of the others, without gradients of its
// own, until all have ended their epoch.
func (t *Trainer) EndEpoch(ctx context.Context) error {
	if _, err := t.ready(); err != nil {
		return err
	}
	t.mu.Lock()
	s := t.parker
	t.mu.Unlock()
	if s == nil {
		var err error
		if s, err = t.session(t.c.Params); err != nil {
			return err
		}
		t.mu.Lock()
		t.parker = s
		t.mu.Unlock()
	}
	return s.park(ctx)
}
