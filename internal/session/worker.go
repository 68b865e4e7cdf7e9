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

// Config is what sessions know of their worker and its job.
type Config struct {
	// Worker is this worker's index, and Workers how many the job has.
	Worker, Workers int
	// Layout has the params that every session trains, in one order.
	Layout   *layout.Layout
	Rule     optimizer.Rule
	Strategy strategy.Strategy // with its defaults filled in
	// Servers are how requests go out. Sessions know nothing else of the network.
	Servers *exchange.Servers
	// Progress counts what the worker's threads train on; nil counts nothing.
	Progress *progress.Tracker
	// Context ends with the worker; its cause says why. Requests and waits of all sessions end with it.
	Context context.Context
	// UseRate gives use the factor on learning rates that servers have. No other factor is set before it returns.
	UseRate func(ctx context.Context, use func(factor float64)) error
	Log     *slog.Logger
}

// Worker is what the sessions of a worker share. One is made for a client's life. Its methods may be called from any
// goroutine.
type Worker struct {
	Config
	// Frozen are values that no rule changes, which the program sets.
	Frozen Frozen

	// mode are the traits of the strategy's mode, by which sessions differ.
	mode mode.Traits
	// It is used in lockstep alone.
	turn chan struct{} // has room for what is done one at a time
	// meetings counts what workers do between steps: a step after it uses no weights that a session had before.
	meetings atomic.Int64

	mu sync.Mutex // guards what follows
	// round is where this worker is in the rounds of the job; modes without rounds don't move it.
	round   mode.Worker
	updates int64 // that its copy of the model begins behind
	// sessions are the ones that train and are not closed: evaluations are not among them.
	sessions []session
	// meeting is of mode half_async, and nil in others.
	meeting *meeting // where threads meet
	// geo is made by the first session that trains.
	geo *geo // where workers have copies
	// begun says that Begin was called, left that Leave was.
	begun bool
	left  bool
}

// session is what a worker needs of a training session.
type session interface {
	optimizer.Session
	// drain waits until what it was given has been applied. It returns with an error where the session has failed
	// before, or ctx ends.
	drain(ctx context.Context) error
	// stop ends its goroutines. Nothing of the session runs any more when it returns. It is called when the worker's
	// Context has ended.
	stop()
}

// ErrClosed says that the worker has left.
var ErrClosed = errors.New("worker has left the job")

// New is a worker whose sessions can be opened once it has begun. It begins no goroutine.
func New(c Config) *Worker {
	c.Progress = cmp.Or(c.Progress, new(progress.Tracker))
	return &Worker{Config: c, mode: mode.Of(c.Strategy.Mode), turn: make(chan struct{}, 1), Frozen: newFrozen(c.Layout)}
}

// Begin says that the layout's params hold the servers' weights: training begins with them.
func (w *Worker) Begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mode.Threads {
		w.meeting = newMeeting(w)
	}
	w.begun = true
}

// Leave says that no session begins to train from now on. Sessions that train go on until they are closed.
func (w *Worker) Leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left = true
}

// trained counts a step, and is how far its thread is with it. Each step that trains is counted once, when its gradient
// is taken over; the position goes with its push.
func (w *Worker) trained(st *optimizer.Step) progress.Position {
	return w.Progress.Trained(st.Thread, st.Threads, st.Samples, st.Number)
}

// closed forgets a session.
func (w *Worker) closed(s session) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sessions = slices.DeleteFunc(w.sessions, func(o session) bool { return o == s })
}

// Stop ends the goroutines of all sessions, after Context has ended. It returns when they have ended.
func (w *Worker) Stop() {
	for _, s := range w.open() {
		s.stop()
	}
}

// Drain waits until everything that sessions were given has been applied. It asks one session after the other, and
// returns the errors of all. What threads push meanwhile it may wait for too.
func (w *Worker) Drain(ctx context.Context) error {
	var errs []error
	for _, s := range w.open() {
		errs = append(errs, s.drain(ctx))
	}
	return errors.Join(errs...)
}

// open are the sessions that train now.
func (w *Worker) open() []session {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.sessions)
}

// Settle drains and, where workers have copies, sends what exchanges have left. When it returns nil the servers have
// all that this worker has trained, unless the strategy keeps the rest of a copy.
func (w *Worker) Settle(ctx context.Context) error {
	if err := w.Drain(ctx); err != nil {
		return err
	}
	if g := w.copied(); g != nil {
		return g.settle(ctx)
	}
	return nil
}

// Refresh makes a worker's copy of the model, if it has one, what the servers have. It waits for an exchange on its way
// first. ctx ends the wait and not the exchange.
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

// copied is the worker's copy of the model; nil where it has none.
func (w *Worker) copied() *geo {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.geo
}

// Met says that the worker was between steps: others' updates may have come, and loads, and rows may be gone. The next
// step of every session begins with what the servers have then. It is a count that sessions compare, so that none is
// woken by it.
func (w *Worker) Met() { w.meetings.Add(1) }

// Weights are W of params. They alias the params.
func Weights(params []*optimizer.Param) [][]float32 {
	w := make([][]float32, len(params))
	for i, p := range params {
		w[i] = p.W
	}
	return w
}

// describe names the worker, and what it was doing, before an error; nil stays nil.
func describe(err error, doing string, w *Worker) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("worker %d %s: %w", w.Worker, doing, err)
}
