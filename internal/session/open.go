package session

import (
	"context"
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/optimizer"
)

// Open implements [optimizer.Trainer]. A session's first step decides whether it trains: one that only evaluates takes
// no part in training, is not waited for, and any number may be open. Open refuses arrays that differ from the layout,
// since otherwise only a server would find a gradient of another shape.
func (w *Worker) Open(params []*optimizer.Param) (optimizer.Session, error) {
	w.mu.Lock()
	begun, left := w.begun, w.left
	w.mu.Unlock()
	switch {
	case !begun:
		return nil, backend.ErrNotJoined
	case left:
		return nil, ErrClosed
	}
	if err := sameParams(w.Layout.Params, params); err != nil {
		return nil, err
	}
	return &opened{w: w, params: params, frozen: -1}, nil
}

// sameParams refuses a session's arrays whose names, shapes or order differ from the layout's.
func sameParams(want, got []*optimizer.Param) error {
	if len(want) != len(got) {
		return fmt.Errorf("a session of %d params: the objective has %d", len(got), len(want))
	}
	for i, p := range got {
		if p.Name != want[i].Name || !slices.Equal(p.Shape, want[i].Shape) || p.Embedding != want[i].Embedding {
			return fmt.Errorf("a session's param %d is %q %v: the objective has %q %v there",
				i, p.Name, p.Shape, want[i].Name, want[i].Shape)
		}
		if err := p.Check(); err != nil {
			return err
		}
	}
	return nil
}

// Looks is an optional method of [optimizer.Trainer]. It is false for a worker with a copy of the
// model, where all lookups are local.
func (w *Worker) Looks() bool { return !w.mode.Copies }

// opened is a session that becomes one of its mode at its first training step. It belongs to one thread, and needs no
// lock.
type opened struct {
	w      *Worker
	params []*optimizer.Param
	// look is set in a session that has evaluated and not trained, train in one that trains; train stays once it is
	// set.
	look   *evaluation
	train  session
	frozen int64 // the version of the frozen values in params
}

// begun makes a training session of the mode if the step trains; if workers have copies, for any step, since the
// weights are the worker's own. o.train stays nil for a session that only evaluates.
func (o *opened) begun(st *optimizer.Step) (err error) {
	if o.train == nil && (!st.Eval || o.w.mode.Copies) {
		o.train, err = o.w.training(o.params, max(1, st.Threads))
	}
	return err
}

// Begin implements [optimizer.Session]. The step's weights are in the session's arrays when it returns.
func (o *opened) Begin(ctx context.Context, st *optimizer.Step) error {
	if err := o.begun(st); err != nil {
		return err
	}
	o.frozen = o.w.Frozen.Install(o.params, o.frozen)
	if o.train != nil {
		o.look = nil
		return o.train.Begin(ctx, st)
	}
	if o.look == nil {
		o.look = newEvaluation(o.w, o.params)
	}
	return o.look.peek(ctx, st)
}

// End implements [optimizer.Session]. It does nothing for an evaluation.
func (o *opened) End(ctx context.Context, st *optimizer.Step) error {
	if err := o.begun(st); err != nil || o.train == nil {
		return err
	}
	return o.train.End(ctx, st)
}

// EndAlone is End for a thread that can't wait for the others of its worker. Only half_async waits for other threads;
// in other modes it is End.
func (o *opened) EndAlone(ctx context.Context, st *optimizer.Step) error {
	if half, ok := o.train.(*halfSession); ok {
		return half.EndAlone(ctx, st)
	}
	return o.End(ctx, st)
}

// Close implements [optimizer.Session]. A session that has trained no step has nothing to close.
func (o *opened) Close(ctx context.Context) error {
	if o.train == nil {
		return nil
	}
	return o.train.Close(ctx)
}

// training makes a session of the strategy's mode, of a worker with so many threads. Drain and Stop include it until it
// is closed.
func (w *Worker) training(params []*optimizer.Param, threads int) (session, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.left {
		return nil, ErrClosed
	}
	s, err := w.newSession(params, threads)
	if err != nil {
		return nil, err
	}
	w.sessions = append(w.sessions, s)
	return s, nil
}

// newSession makes a session of the strategy's mode. The caller holds mu. In lockstep there is one at a time, since a
// worker has one gradient in a round.
func (w *Worker) newSession(params []*optimizer.Param, threads int) (session, error) {
	switch {
	case w.mode.Copies:
		if w.geo == nil {
			g, err := newGeo(w)
			if err != nil {
				return nil, err
			}
			w.geo = g
		}
		return &geoSession{g: w.geo, params: params, intake: newIntake(w, params)}, nil
	case w.mode.Threads:
		return w.meeting.open(params), nil
	case w.mode.Queues:
		return newAsync(w, params, threads), nil
	case w.mode.Lockstep && len(w.sessions) > 0:
		return nil, fmt.Errorf("mode %s trains with one session a worker: close the other one first", w.Strategy.Mode)
	default:
		return newSync(w, params), nil
	}
}
