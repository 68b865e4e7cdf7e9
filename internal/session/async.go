package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gofleet/gofleet/internal/exchange"
	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
)

// waitUnit is the unit of the strategy's SendWaitTimes.
const waitUnit = 10 * time.Millisecond

// asyncSession trains without waiting for other workers: End copies the gradients and returns, and the session's
// senders send them. [mode.SendQueue] decides what is copied or merged, what is sent, and when the training loop waits
// so that gradients don't become arbitrarily stale.
//
// If the next batch is known, the pull of its rows travels with the gradients of this one: one round trip a step, which
// the step waits for, and it includes every update of its own worker. With the strategy's LookAhead the pull is sent
// when this step begins and arrives while it computes; a step then misses the worker's last update. If it is not known,
// the training thread makes the pull itself when it comes, with the gradients unless they are on their way.
//
// The training thread calls Begin and End, and senders make all other requests. Both use the queue under mu; gradients
// and pulls belong to one side at a time, as the queue decides.
type asyncSession struct {
	w   *Worker
	ctx context.Context         // of its requests
	end context.CancelCauseFunc // ends ctx
	// from travels with the gradient; servers compute the gradient's staleness from it.
	from []uint64 // by server: versions of the weights of the step under way
	met  int64    // the worker's meetings when its weights were fetched; -1 before
	// params are the thread's arrays, which senders never touch: staging holds what arrives meanwhile.
	params []*optimizer.Param
	has    int // the version of the dense weights in params
	intake intake
	merger *gradient.Merger
	unsent *unsent // nil if each step is pushed
	// x makes the thread's own requests; now is memory for what they ask for.
	x   *exchange.Exchange
	now []exchange.Rows
	// staging has the dense weights that arrived and that no step has begun with.
	staging *staging
	// senders and failed need no lock: they synchronize by channels.
	senders senders
	// failed wakes the training thread from any wait when it is closed.
	failed chan struct{} // closed when err is set

	mu    sync.Mutex // guards the fields below, and tasks that senders have not begun
	queue *mode.SendQueue
	// gradients belong to the training thread from Step to Filled, and to a sender from Next to Answered.
	gradients []*queued // by place of the queue
	pulls     pulls
	changed   signal // a request was answered
	err       error
}

// queued are the gradients of a step, or of several merged, in a place of the queue. They belong to the training thread
// until the place is filled, then to a sender until the request is answered.
type queued struct {
	gradient.Step
	from []uint64 // by server: versions of the weights at which the first was computed
	at   [1]progress.Position
}

// ErrSessionClosed means that a session is used after Close.
var ErrSessionClosed = errors.New("session is closed")

// newAsync makes a session and starts its goroutines, which Close or stop ends.
func newAsync(w *Worker, params []*optimizer.Param, threads int) *asyncSession {
	o := mode.SendOptionsOf(w.Strategy)
	o.PushSamples = pushSamples(w, threads)
	queue := mode.NewSendQueue(o)
	s := &asyncSession{
		w:       w,
		from:    make([]uint64, len(w.Layout.Parts)),
		met:     -1,
		params:  params,
		intake:  newIntake(w, params),
		merger:  gradient.NewMerger(params, w.Rule, w.Strategy),
		staging: newStaging(w, params),
		senders: senders{work: make(chan task, queue.Requests()+1), receipt: make(chan struct{}, 1)},
		failed:  make(chan struct{}),
		queue:   queue,
	}
	for range s.queue.Places() {
		s.gradients = append(s.gradients, &queued{Step: gradient.NewStep(params)})
	}
	if o.PushSamples > 1 {
		s.unsent = newUnsent(w)
	}
	s.x, s.now = s.staging.exchange(w.Servers), newPull(w)
	s.ctx, s.end = context.WithCancelCause(w.Context)
	s.start()
	return s
}

// Begin implements [optimizer.Session]. It waits for rows and, in a session's first step, for all weights; a step
// without rows waits only if dense weights are late.
func (s *asyncSession) Begin(ctx context.Context, st *optimizer.Step) error {
	if err := checkStep(s.w, st); err != nil {
		return err
	}
	bring := s.pull
	switch {
	case st.Eval && s.w.Strategy.DelayCompensation > 0:
		s.met = -1 // gradients are compensated from the weights that a training step was given
	case !st.Eval && s.met != s.w.meetings.Load():
		bring = s.pullAll
	}
	if err := bring(ctx, st); err != nil {
		return err
	}
	s.install(st)
	if !s.w.Strategy.LookAhead || len(st.Rows) == 0 || !knowsNext(st) {
		return nil
	}
	next := s.newPulling(st, nextOf)
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.lookAhead(next)
	s.act()
	return err
}

// install gives a step the dense weights that have arrived. What waits to be pushed is added to them, and to the step's
// rows; while a push is under way, which a part of them may have, the step keeps those that it has.
func (s *asyncSession) install(st *optimizer.Step) {
	versions := s.from
	if len(st.Rows) > 0 { // which the gradient depends on; else on dense weights alone
		versions = nil
	}
	if s.unsent == nil {
		s.has = s.staging.install(s.params, s.has, versions)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	places, busy := s.queue.Waiting()
	has := s.has
	if !busy {
		s.has = s.staging.install(s.params, has, versions)
	}
	for _, at := range places {
		if s.has != has {
			s.unsent.addDense(s.params, s.gradients[at].Step)
		}
		s.unsent.addRows(st, s.gradients[at].Step)
	}
}

// pullAll fetches all weights for a step: a session's first one, or the first after a meeting. None of the session's
// requests is under way then. met stays -1 until the pushes are drained, so that a failed call is repeated.
func (s *asyncSession) pullAll(ctx context.Context, st *optimizer.Step) error {
	if err := s.drain(ctx); err != nil {
		return err
	}
	s.met = s.w.meetings.Load()
	s.x.Forget()
	s.x.NoDense = false
	r := exchange.Request{Op: wire.OpStep, Pull: own(s.now, st)}
	if err := s.x.Run(ctx, r); err != nil {
		return describe(err, "pulling", s.w)
	}
	s.staging.arrived()
	s.x.Read(s.from)
	if s.unsent != nil {
		return s.w.UseRate(ctx, s.unsent.state.SetRateFactor)
	}
	return nil
}

// pull fetches the rows of a step, if it has any; dense weights come with answers to pushes. The versions of the rows
// go to from, for this step's gradient.
func (s *asyncSession) pull(ctx context.Context, st *optimizer.Step) error {
	if len(st.Rows) == 0 && !st.Eval {
		return s.denseCame(ctx)
	}
	if st.Eval && s.unsent != nil {
		if err := s.drain(ctx); err != nil {
			return err
		}
	}
	p := s.takeNext(st)
	if p == nil || p.waits {
		return s.pullNow(ctx, st, p)
	}
	if err := s.arrive(ctx, p); err != nil {
		return err
	}
	p.give(st)
	copy(s.from, p.read)
	s.putBack(p)
	return nil
}

// End implements [optimizer.Session]. It returns when the gradient is copied, or merged into one that waits, before it
// is sent. Its error may be of an earlier step: a failed session accepts no further step.
func (s *asyncSession) End(ctx context.Context, st *optimizer.Step) error {
	if st.Eval {
		return nil
	}
	push, err := s.intake.Take(st)
	if err != nil {
		return err
	}
	at, turn, err := s.turn(ctx)
	if err != nil {
		return err
	}
	if g := s.gradients[at]; turn == mode.TurnMerge {
		s.merger.Add(&g.Step, push)
	} else {
		g.Set(push)
		g.from = append(g.from[:0], s.from...)
	}
	if s.unsent != nil {
		s.unsent.addDense(s.params, push)
	}
	s.gradients[at].at[0] = s.w.trained(st)
	var next *pulling
	if !s.w.Strategy.LookAhead && len(st.Rows) > 0 && knowsNext(st) {
		next = s.newPulling(st, nextOf)
	}
	return s.filled(at, st, next)
}

// turn asks the queue what to do with a gradient, and waits as long as the queue requires: a training loop waits here
// if servers are slow. at is a place that belongs to the caller until filled. An error means that the session is over,
// or ctx.
func (s *asyncSession) turn(ctx context.Context) (at int, turn mode.Turn, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch at, turn = s.queue.Step(); turn {
		case mode.TurnOver:
			return at, turn, s.over()
		case mode.TurnWait:
			s.act()
			if err := s.sleep(ctx, "waiting for servers"); err != nil {
				return at, turn, err
			}
		default:
			return at, turn, nil
		}
	}
}

// filled passes the queue the gradient in a place, with the pull for the next step that travels with it, if that is
// known. The gradient may be sent at once, or wait up to SendWaitTimes units for others to be merged with it. If the
// thread will pull, and comes at once, its request takes the gradient along.
func (s *asyncSession) filled(at int, st *optimizer.Step, next *pulling) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ticket := s.queue.Filled(at, st.Samples, next != nil || s.pulls.next != nil); ticket != 0 {
		wait := time.Duration(s.w.Strategy.SendWaitTimes) * waitUnit
		if s.unsent != nil {
			wait = unsentWait
		}
		time.AfterFunc(wait, func() { s.waited(ticket) })
	}
	var err error
	if next != nil {
		err = s.lookAhead(next)
	}
	if len(st.Rows) > 0 && s.queue.Requests() == 1 {
		if s.queue.Ripe() {
			s.remind()
		}
	} else {
		s.act()
	}
	return err
}

// waited sends a gradient that has waited long enough for others, unless it was sent.
func (s *asyncSession) waited(ticket uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.Waited(ticket)
	s.act()
}

// failure is the session's error, nil if it has not failed. Its text has the number of trained steps that are not
// acknowledged, and may be lost. The caller holds mu.
func (s *asyncSession) failure() error {
	if n := s.queue.Unsent(); s.err != nil && n > 0 {
		return fmt.Errorf("%w (trained steps that may be missing at the servers: %d)", s.err, n)
	}
	return s.err
}

// over is why the queue accepts nothing more: the session's failure, the end of the worker, or Close. The caller holds
// mu.
func (s *asyncSession) over() error {
	if s.err != nil {
		return s.failure()
	}
	return describe(cmp.Or(context.Cause(s.w.Context), ErrSessionClosed), "training", s.w)
}

// sleep waits until a request is answered. The caller holds mu, and checks its condition again.
func (s *asyncSession) sleep(ctx context.Context, doing string) error {
	changed := s.changed.wait()
	s.mu.Unlock()
	defer s.mu.Lock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return describe(context.Cause(ctx), doing, s.w)
	}
}

// await waits for answers until ready, ctx ends or the session has failed. The caller holds mu, as ready needs.
func (s *asyncSession) await(ctx context.Context, ready func() bool) error {
	for s.err == nil && !ready() {
		if err := s.sleep(ctx, "waiting for servers"); err != nil {
			return err
		}
	}
	return s.failure()
}

// drain sends all gradients, without waiting for others to merge. When it returns nil, servers have answered every
// push, and no request is under way.
func (s *asyncSession) drain(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.Drain()
	defer s.queue.Resume()
	s.act()
	for s.err == nil && !s.queue.Drained() {
		if err := s.sleep(ctx, "sending its last gradients"); err != nil {
			return err
		}
	}
	return s.failure()
}

// Close implements [optimizer.Session]. Gradients that are unsent when ctx ends are dropped, with the requests under
// way. Without an error all that was trained has been acknowledged.
func (s *asyncSession) Close(ctx context.Context) error {
	err := s.drain(ctx)
	if ctx.Err() != nil {
		s.end(context.Cause(ctx))
	}
	s.stop()
	s.x.Release()
	s.w.closed(s)
	return err
}

// stop ends the senders. Queued gradients are still sent if the servers answer. It waits for requests under way, which
// end with the worker's Context at the latest.
func (s *asyncSession) stop() {
	s.mu.Lock()
	s.queue.Close()
	s.act()
	s.changed.send()
	s.mu.Unlock()
	s.senders.running.Wait()
	s.end(ErrSessionClosed)
}
