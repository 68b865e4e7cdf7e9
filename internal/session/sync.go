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
	w *Worker
	// x is the session's own: one request at a time goes by it.
	x      *exchange.Exchange
	intake intake
	// pull has the rows of a step whose ids were not known before, ahead the ones that came with the last push.
	pull  []exchange.Rows
	ahead fetched
	came  bool // what ahead has came with the last push
	// A session that has met other workers since asks for all weights: versions may name weights that were foreseen, or
	// loaded.
	met int64 // the worker's meetings when it trained last
	// at is the position that goes with a push.
	at [1]progress.Position
}

// newSync is a session of params, with no weights yet but those that the arrays have.
func newSync(w *Worker, params []*optimizer.Param) *syncSession {
	s := &syncSession{w: w, x: exchange.New(w.Servers), intake: newIntake(w, params),
		pull: newPull(w), ahead: newFetched(w)}
	s.x.Dense = Weights(params)
	return s
}

// Begin implements [optimizer.Session]. Rows that came with the last push need no request, as long as the worker met no
// others in between and the batch is the one that was announced.
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

// End implements [optimizer.Session]. It returns when the round has closed, with its weights in the arrays. A step has
// one number from the first request to the last, so that it counts once. When it fails, the gradient may count or not.
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

// Close implements [optimizer.Session]. Nothing is on its way between two steps.
func (s *syncSession) Close(context.Context) error {
	s.w.closed(s)
	return nil
}

// drain has nothing to wait for: End returns when its push was answered.
func (s *syncSession) drain(context.Context) error { return nil }

// stop has no goroutine to end.
func (s *syncSession) stop() {}
