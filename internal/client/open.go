package client

import (
	"context"
	"fmt"
	"github.com/gofleet/gofleet/internal/exchange"
	"slices"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// Open implements [optimizer.Trainer]. Whether a session trains shows at its first step: one that only evaluates takes no part in
// training, nobody waits for it, and any number may be open.
func (c *Client) Open(params []*optimizer.Param) (optimizer.Session, error) {
	if c.stage.Load() != joined {
		return nil, backend.ErrNotJoined
	}
	if err := sameParams(c.c.Layout.Params, params); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left {
		return nil, ErrClosed
	}
	return &opened{c: c, params: params}, nil
}

// sameParams refuses a session's arrays that are not those of the layout.
func sameParams(want, got []*optimizer.Param) error {
	if len(want) != len(got) {
		return fmt.Errorf("a session of %d params: the objective has %d", len(got), len(want))
	}
	for i, p := range got {
		if p.Name != want[i].Name || !slices.Equal(p.Shape, want[i].Shape) || p.Embedding != want[i].Embedding {
			return fmt.Errorf("a session's param %d is %q %v: the objective has %q %v there", i, p.Name, p.Shape, want[i].Name, want[i].Shape)
		}
		if err := p.Check(); err != nil {
			return err
		}
	}
	return nil
}

// opened is a session that becomes one of its mode at its first training step.
type opened struct {
	c      *Client
	params []*optimizer.Param
	look   *evaluation
	train  session
	frozen int64 // the version of the frozen values in params
}

// begun makes the session one that trains, if the step is training; in geo any step is, since the weights are the worker's own.
func (o *opened) begun(st *optimizer.Step) (err error) {
	if o.train == nil && (!st.Eval || o.c.c.Strategy.Mode == strategy.ModeGeo) {
		o.train, err = o.c.training(o.params)
	}
	return err
}

// Begin implements [optimizer.Session].
func (o *opened) Begin(ctx context.Context, st *optimizer.Step) error {
	if err := o.begun(st); err != nil {
		return err
	}
	o.frozen = o.c.frozen.install(o.params, o.frozen)
	if o.train != nil {
		o.look = nil
		return o.train.Begin(ctx, st)
	}
	if o.look == nil {
		o.look = newEvaluation(o.c, o.params)
	}
	return o.look.begin(ctx, st)
}

// End implements [optimizer.Session].
func (o *opened) End(ctx context.Context, st *optimizer.Step) error {
	if err := o.begun(st); err != nil || o.train == nil {
		return err
	}
	return o.train.End(ctx, st)
}

// EndAlone is End for a thread that can't wait for the others of its worker.
func (o *opened) EndAlone(ctx context.Context, st *optimizer.Step) error {
	if half, ok := o.train.(*halfSession); ok {
		return half.EndAlone(ctx, st)
	}
	return o.End(ctx, st)
}

// Close implements [optimizer.Session].
func (o *opened) Close(ctx context.Context) error {
	if o.train == nil {
		return nil
	}
	return o.train.Close(ctx)
}

// training makes a session of the strategy's mode.
func (c *Client) training(params []*optimizer.Param) (session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left {
		return nil, ErrClosed
	}
	var s session
	switch {
	case c.c.Strategy.Mode == strategy.ModeGeo:
		if c.geo == nil {
			g, err := newGeo(c)
			if err != nil {
				return nil, err
			}
			c.geo = g
		}
		s = &geoSession{g: c.geo, params: params, intake: newIntake(c, params)}
	case c.c.Strategy.Mode == strategy.ModeHalfAsync:
		s = c.meeting.open(params)
	case !c.lockstep():
		s = newAsync(c, params)
	case len(c.sessions) > 0:
		return nil, fmt.Errorf("mode %s trains with one session a worker: close the other one first", c.c.Strategy.Mode)
	default:
		s = newSync(c, params)
	}
	c.sessions = append(c.sessions, s)
	return s, nil
}

// lockstep says whether workers wait for each other.
func (c *Client) lockstep() bool {
	return c.c.Strategy.Mode == strategy.ModeSync || c.c.Strategy.Mode == strategy.ModeSSP
}

// closed forgets a session.
func (c *Client) closed(s session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sessions = slices.DeleteFunc(c.sessions, func(o session) bool { return o == s })
}

// evaluation reads the newest weights, as far as this worker must have seen them, and brings nothing to life.
type evaluation struct {
	c    *Client
	x    *exchange.Exchange
	pull []exchange.Rows
}

func newEvaluation(c *Client, params []*optimizer.Param) *evaluation {
	v := &evaluation{c: c, x: exchange.New(&c.servers), pull: make([]exchange.Rows, len(c.c.Layout.Embeddings))}
	v.x.Dense = weights(params)
	return v
}

func (v *evaluation) begin(ctx context.Context, st *optimizer.Step) error {
	if err := checkStep(v.c, st); err != nil {
		return err
	}
	for e := range st.Rows {
		v.pull[e] = exchange.Rows{IDs: st.Rows[e].IDs, W: st.Rows[e].W}
	}
	return describe(v.x.Run(ctx, exchange.Request{Op: wire.OpPeek, Round: v.c.currentRound(), Pull: v.pull}), "pulling", v.c)
}
