package session

import (
	"context"

	"github.com/gofleet/gofleet/internal/exchange"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
)

// syncSession trains in rounds: the answer to a push comes when its round has closed, and brings the new weights. Rows
// of the next batch come with it when that batch is known; else they take a round trip of their own.
type syncSession struct {
	w      *Worker
	x      *exchange.Exchange
	intake intake
	pull   []exchange.Rows
	ahead  fetched
	came   bool  // what ahead has came with the last push
	met    int64 // the worker's meetings when it trained last
	at     [1]progress.Position
}

func newSync(w *Worker, params []*optimizer.Param) *syncSession {
	s := &syncSession{w: w, x: exchange.New(w.Servers), intake: newIntake(w, params),
		pull: newPull(w), ahead: newFetched(w)}
	s.x.Dense = Weights(params)
	return s
}

// Begin implements [optimizer.Session].
func (s *syncSession) Begin(ctx context.Context, st *optimizer.Step) error {
	if err := checkStep(s.w, st); err != nil {
		return err
	}
	if !st.Eval && s.came {
		s.came = false
		if s.ahead.are(s.w, st) {
			s.ahead.give(st)
			return nil
		}
	}
	if met := s.w.meetings.Load(); !st.Eval && s.met != met {
		s.met = met
		s.x.Forget() // the weights of a version may have been foreseen
	}
	r := exchange.Request{Op: opOf(st), Round: s.w.Round(), Pull: own(s.pull, st)}
	return describe(s.x.Run(ctx, r), "pulling", s.w)
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
	done, err := s.w.InTurn(ctx, "pushing")
	if err != nil {
		return err
	}
	defer done()
	seq, acked := s.w.Servers.Sequence.Begin()
	defer s.w.Servers.Sequence.End(seq)
	s.at[0] = s.w.trained(st)
	r := exchange.Request{Op: wire.OpStep, Round: s.w.Round(), Seq: seq, Acked: acked, Push: push, Positions: s.at[:],
		All: true}
	if s.came = false; knowsNext(st) {
		s.ahead.want(s.w, st, nextOf)
		r.Pull = s.ahead.rows
	}
	if err := s.x.Run(ctx, r); err != nil {
		return describe(err, "pushing", s.w)
	}
	s.w.Pushed()
	s.w.Servers.Tally.Steps.Add(1)
	s.came = r.Pull != nil
	return nil
}

// Close implements [optimizer.Session].
func (s *syncSession) Close(context.Context) error {
	s.w.closed(s)
	return nil
}

func (s *syncSession) drain(context.Context) error { return nil }

func (s *syncSession) stop() {}
