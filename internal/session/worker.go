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
	Worker, Workers int
	Layout          *layout.Layout
	Rule            optimizer.Rule
	Strategy        strategy.Strategy // with its defaults filled in
	Servers         *exchange.Servers
	// Progress counts what the worker's threads train on; nil counts nothing.
	Progress *progress.Tracker
	// Context ends with the worker; its cause says why.
	Context context.Context
	// UseRate gives use the factor on learning rates that servers have. No other factor is set before it returns.
	UseRate func(ctx context.Context, use func(factor float64)) error
	Log     *slog.Logger
}

// Worker is what the sessions of a worker share.
type Worker struct {
	Config
	Frozen Frozen

	mode mode.Traits
	turn chan struct{} // has room for what is done one at a time
	// meetings counts what workers do between steps: a step after it uses no weights that a session had before.
	meetings atomic.Int64

	mu       sync.Mutex // guards what follows
	round    mode.Worker
	updates  int64 // that its copy of the model begins behind
	sessions []session
	meeting  *meeting // where threads meet
	geo      *geo     // where workers have copies
	begun    bool
	left     bool
}

// session is what a worker needs of a training session.
type session interface {
	optimizer.Session
	// drain waits until what it was given has been applied.
	drain(ctx context.Context) error
	// stop ends its goroutines.
	stop()
}

// ErrClosed says that the worker has left.
var ErrClosed = errors.New("worker has left the job")

// New is a worker whose sessions can be opened once it has begun.
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

// Leave says that no session begins to train from now on.
func (w *Worker) Leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left = true
}

// trained counts a step, and is how far its thread is with it.
func (w *Worker) trained(st *optimizer.Step) progress.Position {
	return w.Progress.Trained(st.Thread, st.Threads, st.Samples, st.Number)
}

// closed forgets a session.
func (w *Worker) closed(s session) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sessions = slices.DeleteFunc(w.sessions, func(o session) bool { return o == s })
}

// Stop ends the goroutines of all sessions, after Context has ended.
func (w *Worker) Stop() {
	for _, s := range w.open() {
		s.stop()
	}
}

// Drain waits until everything that sessions were given has been applied.
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

// Settle drains and, where workers have copies, sends what exchanges have left.
func (w *Worker) Settle(ctx context.Context) error {
	if err := w.Drain(ctx); err != nil {
		return err
	}
	if g := w.copied(); g != nil {
		return g.settle(ctx)
	}
	return nil
}

// Refresh makes a worker's copy of the model, if it has one, what the servers have.
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
// step of every session begins with what the servers have then.
func (w *Worker) Met() { w.meetings.Add(1) }

// Weights are W of params.
func Weights(params []*optimizer.Param) [][]float32 {
	w := make([][]float32, len(params))
	for i, p := range params {
		w[i] = p.W
	}
	return w
}

// describe says at what a worker failed.
func describe(err error, doing string, w *Worker) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("worker %d %s: %w", w.Worker, doing, err)
}
