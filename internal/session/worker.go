package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/exchange"
	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// Config has what sessions need to know of their worker and its job.
type Config struct {
	// Worker is this worker's index, and Workers the number of workers in the job.
	Worker, Workers int
	// Layout has the params that every session trains, in one order.
	Layout   *layout.Layout
	Rule     optimizer.Rule
	Strategy strategy.Strategy // with its defaults filled in
	// Servers sends the requests. Sessions have no other access to the network.
	Servers *exchange.Servers
	// Progress counts what the worker's threads have trained on; nil counts nothing.
	Progress *progress.Tracker
	// Context ends with the worker, with the reason as its cause. Requests and waits of all sessions end with it.
	Context context.Context
	// UseRate calls use with the servers' factor on learning rates. No other factor is set before it returns.
	UseRate func(ctx context.Context, use func(factor float64)) error
	Log     *slog.Logger
}

// Worker is what the sessions of a worker share. One is made for a client's life. Its methods may be called from any
// goroutine.
type Worker struct {
	Config
	// Frozen are values that no rule changes, and that the program sets.
	Frozen Frozen

	// mode has the traits of the strategy's mode, by which sessions differ.
	mode mode.Traits
	// turn is used in lockstep alone.
	turn chan struct{} // has an element while the worker does something that must be done alone
	// meetings counts the worker's meetings between steps: later steps do not use weights that a session had before.
	meetings atomic.Int64

	mu sync.Mutex // guards the fields below
	// round is where this worker is in the rounds of the job; it does not change in modes without rounds.
	round   mode.Worker
	updates int64 // updates that its copy of the model continues from
	// sessions are the training sessions that are not closed, without evaluations.
	sessions []session
	// meeting is nil in other modes than half_async.
	meeting *meeting // where threads meet
	// geo is made by the first session that trains.
	geo *geo // if workers have copies
	// begun reports that Begin was called, left that Leave was.
	begun bool
	left  bool
}

// session is what a worker needs of a training session.
type session interface {
	optimizer.Session
	// drain waits until everything that it was given has been applied. It returns an error if the session has failed
	// before, or ctx ends.
	drain(ctx context.Context) error
	// stop ends its goroutines, and returns when none of them runs any more. It is called when the worker's Context has
	// ended.
	stop()
}

// ErrClosed means that the worker has left.
var ErrClosed = errors.New("worker has left the job")

// New makes a worker whose sessions can be opened after Begin. It starts no goroutine.
func New(c Config) *Worker {
	c.Progress = cmp.Or(c.Progress, new(progress.Tracker))
	return &Worker{Config: c, mode: mode.Of(c.Strategy.Mode), turn: make(chan struct{}, 1), Frozen: newFrozen(c.Layout)}
}

// Begin is called when the layout's params hold the servers' weights, with which training begins.
func (w *Worker) Begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mode.Threads {
		w.meeting = newMeeting(w)
	}
	w.begun = true
}

// Leave prevents sessions from beginning to train. Sessions that train go on until they are closed.
func (w *Worker) Leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left = true
}

// trained counts a step, and returns the place of its thread in the data after it. Each training step is counted once,
// when its gradient is taken; the position is sent with its push, with the averages that the step has computed.
func (w *Worker) trained(st *optimizer.Step) progress.Position {
	if st.Settle != nil && !w.mode.Threads {
		st.Settle()
	}
	return w.Progress.Trained(st.Thread, st.Threads, st.Samples, st.Number)
}

// closed removes a session.
func (w *Worker) closed(s session) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sessions = slices.DeleteFunc(w.sessions, func(o session) bool { return o == s })
}

// Stop ends the goroutines of all sessions, after Context has ended, and returns when they have ended.
func (w *Worker) Stop() {
	for _, s := range w.open() {
		s.stop()
	}
}

// Drain waits until everything that sessions were given has been applied, one session after the other, and returns the
// errors of all. It may also wait for what threads push meanwhile.
func (w *Worker) Drain(ctx context.Context) error {
	var errs []error
	for _, s := range w.open() {
		errs = append(errs, s.drain(ctx))
	}
	return errors.Join(errs...)
}

// open returns the sessions that train now.
func (w *Worker) open() []session {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.sessions)
}

// Settle drains and, if workers have copies, sends what exchanges have left. When it returns nil the servers have all
// that this worker has trained, unless the strategy keeps the rest of a copy.
func (w *Worker) Settle(ctx context.Context) error {
	if err := w.Drain(ctx); err != nil {
		return err
	}
	if g := w.copied(); g != nil {
		return g.settle(ctx)
	}
	return nil
}

// Refresh updates a worker's copy of the model, if it has one, to what the servers have. It first waits for an exchange
// under way. ctx ends the wait and not the exchange.
func (w *Worker) Refresh(ctx context.Context) error {
	g := w.copied()
	if g == nil {
		return nil
	}
	if err := g.enter(ctx); err != nil {
		return err
	}
	return g.finish(ctx, g.refresh)
}

// SetRateFactor multiplies the learning rates of the worker's copy, if it has one.
func (w *Worker) SetRateFactor(factor float64) {
	if g := w.copied(); g != nil {
		g.model.store.SetRateFactor(factor)
	}
}

// copied returns the worker's copy of the model; nil if it has none.
func (w *Worker) copied() *geo {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.geo
}

// Met notes that the worker was between steps: updates of others may have come, and loads, and rows may be gone. The
// next step of every session begins with the servers' weights. Sessions compare the count; Met wakes none of them.
func (w *Worker) Met() { w.meetings.Add(1) }

// Weights returns W of each param. The slices alias the params.
func Weights(params []*optimizer.Param) [][]float32 {
	w := make([][]float32, len(params))
	for i, p := range params {
		w[i] = p.W
	}
	return w
}

// describe prefixes an error with the worker and what it was doing; nil stays nil.
func describe(err error, doing string, w *Worker) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("worker %d %s: %w", w.Worker, doing, err)
}
