package client

import (
	"context"
	"fmt"
	"github.com/gofleet/gofleet/internal/exchange"
	"slices"

	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
)

// syncSession trains in rounds: the answer to a push comes when its round has closed, and brings the new weights. Rows of the
// next batch come with it when that batch is known; else they take a round trip of their own.
type syncSession struct {
	c      *Client
	params []*optimizer.Param
	x      *exchange.Exchange
	intake intake
	pull   []exchange.Rows
	ahead  ahead
}

// ahead holds rows that were fetched before their step.
type ahead struct {
	valid bool
	day   int64
	rows  []exchange.Rows
}

func newSync(c *Client, params []*optimizer.Param) *syncSession {
	n := len(c.c.Layout.Embeddings)
	s := &syncSession{c: c, params: params, x: exchange.New(&c.servers), intake: newIntake(c, params),
		pull: make([]exchange.Rows, n), ahead: ahead{rows: make([]exchange.Rows, n)}}
	s.x.Dense = weights(params)
	return s
}

// Begin implements [optimizer.Session].
func (s *syncSession) Begin(ctx context.Context, st *optimizer.Step) error {
	if err := checkStep(s.c, st); err != nil {
		return err
	}
	if !st.Eval && s.ahead.take(st, s.c.days.Load()) {
		return nil
	}
	for e := range st.Rows {
		s.pull[e] = exchange.Rows{IDs: st.Rows[e].IDs, W: st.Rows[e].W}
	}
	r := exchange.Request{Op: wire.OpStep, Round: s.c.currentRound(), Pull: s.pull}
	if st.Eval {
		r.Op = wire.OpPeek
	}
	return describe(s.x.Run(ctx, r), "pulling", s.c)
}

// End implements [optimizer.Session].
func (s *syncSession) End(ctx context.Context, st *optimizer.Step) error {
	if st.Eval {
		return nil
	}
	push, err := s.intake.Take(st)
	if err != nil {
		return err
	}
	done, err := s.c.inTurn(ctx, "pushing")
	if err != nil {
		return err
	}
	defer done()
	step, acked := s.c.servers.Sequence.Begin()
	defer s.c.servers.Sequence.End(step)
	r := exchange.Request{Op: wire.OpStep, Round: s.c.currentRound(), Seq: step, Acked: acked,
		Push: push, Pull: s.ahead.want(s.c, st), All: true}
	if err := s.x.Run(ctx, r); err != nil {
		return describe(err, "pushing", s.c)
	}
	s.c.pushed()
	s.c.servers.Tally.Steps.Add(1)
	s.ahead.valid = r.Pull != nil
	return nil
}

// Close implements [optimizer.Session].
func (s *syncSession) Close(context.Context) error {
	s.c.closed(s)
	return nil
}

func (s *syncSession) drain(context.Context) error { return nil }

func (s *syncSession) stop() {}

// want readies room for the rows of the next batch; nil when it is not known.
func (a *ahead) want(c *Client, st *optimizer.Step) []exchange.Rows {
	a.valid, a.day = false, c.days.Load()
	for e := range st.Rows {
		if st.Rows[e].Next == nil {
			return nil
		}
	}
	for e := range st.Rows {
		a.rows[e].Want(st.Rows[e].Next, st.Rows[e].Param.Dim())
	}
	return a.rows
}

// take fills a step's rows if they are those that were fetched.
func (a *ahead) take(st *optimizer.Step, day int64) bool {
	if !a.valid || a.day != day {
		return false
	}
	a.valid = false
	for e := range st.Rows {
		if !slices.Equal(st.Rows[e].IDs, a.rows[e].IDs) {
			return false
		}
	}
	for e := range st.Rows {
		copy(st.Rows[e].W, a.rows[e].W)
	}
	return true
}

// describe says at what a worker failed.
func describe(err error, doing string, c *Client) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("worker %d %s: %w", c.c.Worker, doing, err)
}
