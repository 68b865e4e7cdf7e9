package client

import (
	"context"
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
)

// syncSession trains in rounds: the answer to a push comes when its round has closed, and brings the new weights. Rows of the
// next batch come with it when that batch is known; else they take a round trip of their own.
type syncSession struct {
	c      *Client
	params []*optimizer.Param
	x      *exchange
	clean  cleaner
	pull   []rows
	ahead  ahead
}

// ahead holds rows that were fetched before their step.
type ahead struct {
	valid bool
	day   int64
	rows  []rows
}

func newSync(c *Client, params []*optimizer.Param) *syncSession {
	n := len(c.c.Layout.Embeddings)
	s := &syncSession{c: c, params: params, x: newExchange(c), clean: newCleaner(c),
		pull: make([]rows, n), ahead: ahead{rows: make([]rows, n)}}
	s.x.dense = weights(params)
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
		s.pull[e] = rows{ids: st.Rows[e].IDs, data: st.Rows[e].W}
	}
	r := request{op: wire.OpStep, round: s.c.currentRound(), pull: s.pull}
	if st.Eval {
		r.op = wire.OpPeek
	}
	return describe(s.x.run(ctx, r), "pulling", s.c)
}

// End implements [optimizer.Session].
func (s *syncSession) End(ctx context.Context, st *optimizer.Step) error {
	if st.Eval {
		return nil
	}
	dense, push, err := s.clean.clean(s.params, st)
	if err != nil {
		return err
	}
	done, err := s.c.inTurn(ctx, "pushing")
	if err != nil {
		return err
	}
	defer done()
	step, acked := s.c.steps.begin()
	defer s.c.steps.end(step)
	r := request{op: wire.OpStep, round: s.c.currentRound(), samples: st.Samples, step: step, acked: acked,
		dense: dense, push: push, pull: s.ahead.want(s.c, st), all: true}
	if err := s.x.run(ctx, r); err != nil {
		return describe(err, "pushing", s.c)
	}
	s.c.pushed()
	s.c.counts.steps.Add(1)
	s.ahead.valid = r.pull != nil
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
func (a *ahead) want(c *Client, st *optimizer.Step) []rows {
	a.valid, a.day = false, c.days.Load()
	for e := range st.Rows {
		if st.Rows[e].Next == nil {
			return nil
		}
	}
	for e := range st.Rows {
		a.rows[e].want(st.Rows[e].Next, st.Rows[e].Param.Dim())
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
		if !slices.Equal(st.Rows[e].IDs, a.rows[e].ids) {
			return false
		}
	}
	for e := range st.Rows {
		copy(st.Rows[e].W, a.rows[e].data)
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
