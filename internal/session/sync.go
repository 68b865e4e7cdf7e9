package session

import (
	"context"

	"github.com/gofleet/gofleet/internal/exchange"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
)

// syncSession trains in rounds: the answer to a push comes when its round has closed, and has the new weights. It also
// has the rows of the next batch if that batch is known; otherwise they take a round trip of their own.
type syncSession struct {
	w *Worker
	// x is the session's own, for one request at a time.
	x      *exchange.Exchange
	intake intake
	// pull has the rows of a step whose ids were not known before, ahead those that came with the last push.
	pull  []exchange.Rows
	ahead fetched
	came  bool // ahead has rows that came with the last push
	// met makes a session that has met other workers since ask for all weights: its versions may be of weights that
	// were predicted, or replaced by a load.
	met int64 // the worker's meetings when it trained last
	// at is the position that is sent with a push.
	at [1]progress.Position
}

// newSync makes a session of params with the weights in their arrays.
func newSync(w *Worker, params []*optimizer.Param) *syncSession {
	s := &syncSession{w: w, x: exchange.New(w.Servers), intake: newIntake(w, params),
		pull: newPull(w), ahead: newFetched(w)}
	s.x.Dense = Weights(params)
	return s
}

// Begin implements [optimizer.Session]. Rows that came with the last push need no request, if the worker has met no
// others since and the batch is the announced one.
func (s *syncSession) Begin(ctx context.Context, st *optimizer.Step) error {
	if err := checkStep(s.w, st); err != nil {
		return err
	}
	if !st.Eval && s.came {
		s.came = false
		if s.ahead.match(s.w, st) {
			s.ahead.give(st)
			return nil
		}
	}
	if met := s.w.meetings.Load(); !st.Eval && s.met != met {
		s.met = met
		s.x.Forget() // weights of the same version may have been predicted
	}
	r := exchange.Request{Op: opOf(st), Round: s.w.Round(), Pull: own(s.pull, st)}
	return describe(s.x.Run(ctx, r), "pulling", s.w)
}

// End implements [optimizer.Session]. It returns when the round has closed, with its weights in the arrays. All
// requests of a step have one sequence number, so that it counts once. After an error the gradient may count or not.
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

// Close implements [optimizer.Session]. No request is under way between two steps.
func (s *syncSession) Close(context.Context) error {
	s.w.closed(s)
	s.x.Release()
	return nil
}

// drain has nothing to wait for: End returns when its push was answered.
func (s *syncSession) drain(context.Context) error { return nil }

// stop has no goroutine to end.
func (s *syncSession) stop() {}
