package train

import (
	"context"

	"github.com/gofleet/gofleet/nn"
)

// Hooks are functions that a job calls on every worker, on the training goroutine; they may be nil. An error of one
// ends the job. For work to be done once for all workers, check [Run.Leads].
type Hooks struct {
	// Begin is called when the worker has joined, and has weights and rows.
	Begin func(ctx context.Context, r *Run) error
	// EpochBegin is called before an epoch's first step.
	EpochBegin func(ctx context.Context, r *Run) error
	// Step is called after each step, with the epoch's result so far. Threads that train together call it one at a
	// time.
	Step func(ctx context.Context, r *Run, so nn.TrainResult) error
	// Evaluated is called after an evaluation: all workers have the same numbers. [Run.Stop] ends the job here. If the
	// worker that leads ends in it, it is called again on the others, with [Run.Again] set and States as before.
	Evaluated func(ctx context.Context, r *Run, e Evaluation) error
	// EpochEnd is called when all workers have ended the epoch and evaluated it, with what this worker did. The next
	// epoch begins when all have returned from it. If a worker ends before, or the job does and is started again, it is
	// called again, with [Run.Again] set.
	EpochEnd func(ctx context.Context, r *Run, done nn.TrainResult) error
	// Saved is called, on the worker that saved, when what the job leaves is in its directory.
	Saved func(ctx context.Context, r *Run, dir string) error
	// End is called when training is over and the model is saved, before the worker leaves.
	End func(ctx context.Context, r *Run) error
	// State is the hooks' saved state, for a job that resumes; nil means none. Name identifies it in checkpoints: a
	// restarted job must have the same hooks with a name, in the same order.
	State State
	Name  string

	file string // the file of the history
}

// State is the saved state of hooks. Don't rely on History for it: a checkpoint may have only a part of the History.
//
// A checkpoint has one state for all workers: that of the worker which saves, as it was at the last evaluation or when
// the epoch began. What Step has changed since then is not in a checkpoint made in the middle of an epoch, although the
// epoch resumes after these steps: a count of steps in it would be too small.
type State interface {
	// Save returns the state to store in checkpoints from now on, a few kilobytes at most. It is called when the job
	// begins, after each evaluation, and at the end of each epoch.
	Save() ([]byte, error)
	// Resume restores the state before Begin is called; saved is nil if there is none, as in a new job. On a worker
	// that was restarted alone it is called again later, with the state of a worker that kept running.
	Resume(saved []byte) error
}

// hooks are a job's hooks, in the order in which they are called.
type hooks []Hooks

// told is a hook with an argument besides the run.
type told[A any] = func(ctx context.Context, r *Run, what A) error

// call calls one hook of each, in order, until one fails.
func call[A any](ctx context.Context, all hooks, r *Run, what A, of func(h Hooks) told[A]) error {
	for _, h := range all {
		if hook := of(h); hook != nil {
			if err := hook(ctx, r, what); err != nil {
				return err
			}
		}
	}
	return nil
}

// plain calls hooks without an argument besides the run.
func (all hooks) plain(ctx context.Context, r *Run, of func(h Hooks) func(context.Context, *Run) error) error {
	for _, h := range all {
		if hook := of(h); hook != nil {
			if err := hook(ctx, r); err != nil {
				return err
			}
		}
	}
	return nil
}

func (all hooks) stepped(ctx context.Context, r *Run, so nn.TrainResult) error {
	return call(ctx, all, r, so, func(h Hooks) told[nn.TrainResult] { return h.Step })
}

func (all hooks) evaluated(ctx context.Context, r *Run, e Evaluation) error {
	return call(ctx, all, r, e, func(h Hooks) told[Evaluation] { return h.Evaluated })
}

func (all hooks) epochEnded(ctx context.Context, r *Run, done nn.TrainResult) error {
	return call(ctx, all, r, done, func(h Hooks) told[nn.TrainResult] { return h.EpochEnd })
}

func (all hooks) saved(ctx context.Context, r *Run, dir string) error {
	return call(ctx, all, r, dir, func(h Hooks) told[string] { return h.Saved })
}
