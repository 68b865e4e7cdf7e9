package nn

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/gofleet/gofleet/optimizer"
	"gorgonia.org/tensor"
)

// TrainOptions are the options of a training loop.
type TrainOptions struct {
	// Fetch are nodes to compute in every step, of which metrics over several batches only count. Reports show fetches
	// of one element, and the result has the last values.
	Fetch []*Node
	// Progress reports while the loop runs; nil reports nothing.
	Progress *Progress
	// MayBeEmpty permits an epoch without batches, for a worker that may have no rows of its own: the epoch ends at
	// once. By default that is [ErrNoBatches].
	MayBeEmpty bool
	// Step, if not nil, is called after each step with the result so far. It may evaluate, save, or call collectives.
	// Threads that train together call it one at a time. Its error ends the loop.
	Step func(ctx context.Context, so TrainResult) error
	// Gradients, if not nil, is called with each step's gradients before they are passed to the trainer. The params are
	// in the order of the loss's Params: G of a dense param that is not frozen is its gradient, computed at W, and the
	// step's Rows have the gradients of embeddings. All are valid until it returns, and must not be changed. Threads
	// that train together call it concurrently.
	Gradients func(params []*optimizer.Param, s *optimizer.Step)
}

// ErrNoBatches says that a training loop was given no batch, so that nothing was trained.
var ErrNoBatches = errors.New("nn: the epoch had no batches")

// trained returns an error if there was nothing to train on.
func (o TrainOptions) trained(res TrainResult) error {
	if res.Steps > 0 || res.Passed > 0 || o.MayBeEmpty {
		return nil
	}
	return fmt.Errorf("%w: look at the data, or set TrainOptions.MayBeEmpty where there may be none", ErrNoBatches)
}

// TrainFrom trains on every batch, in order, and ends the epoch. It reads one batch ahead, so that the trainer knows
// the next step's ids early: a batch must stay unchanged until two more have been yielded. After an error, of the
// batches or of a step, the result says how many steps were made, and the epoch has not ended. An epoch without batches
// is an error too ([ErrNoBatches]).
//
// If the job resumes from a checkpoint made in the middle of the epoch, TrainFrom skips the first batches, which the
// weights already contain. Batches must therefore come in the same order as before.
func (e *Executor) TrainFrom(
	ctx context.Context, batches iter.Seq2[map[string]*tensor.Dense, error], o TrainOptions,
) (TrainResult, error) {
	l := &trainLoop{exe: e, after: o.Step, began: time.Now()}
	e.shows = o.Gradients
	defer func() { e.shows = nil }()
	if batches == nil {
		return TrainResult{}, errors.New("nn: TrainFrom: batches is nil")
	}
	if err := o.Progress.check(); err != nil {
		return TrainResult{}, err
	}
	if err := l.prepare(o.Fetch); err != nil {
		return TrainResult{}, err
	}
	l.report = o.Progress.start(o.Fetch)
	err := l.run(ctx, batches)
	if err == nil {
		err = o.trained(l.res)
	}
	if err == nil {
		_, trainer := e.graph.bound()
		err = e.blame(trainer.EndEpoch(ctx))
	}
	l.report.finish(l.res)
	return l.res, err
}

// trainLoop is a running TrainFrom.
type trainLoop struct {
	exe    *Executor
	plan   *plan
	from   interface{ Passed(_, _, _ int) bool } // nil if the job does not resume
	report *report
	after  func(context.Context, TrainResult) error // called after each step, nil for none
	began  time.Time
	crowd  *crowd  // the threads that train and report together with this one, nil if there are none
	losses float64 // summed by weight
	res    TrainResult
}

func (l *trainLoop) prepare(fetch []*Node) (err error) {
	if err = l.exe.open(true); err == nil {
		l.plan, err = l.exe.plan(fetch, true)
	}
	if err == nil {
		l.res.counts, l.res.counted = l.plan.counts(), l.plan.counted()
		_, trainer := l.exe.graph.bound()
		l.from, _ = trainer.(interface{ Passed(_, _, _ int) bool })
	}
	return err
}

// passed reports whether a batch is already in the weights.
func (l *trainLoop) passed(b *feedBatch) bool {
	st := &l.exe.step
	if l.from == nil || !l.from.Passed(st.Thread, st.Threads, b.rows) {
		return false
	}
	l.res.Passed += b.rows
	if l.crowd != nil {
		l.crowd.passed(b.rows)
	}
	return true
}

func (l *trainLoop) run(ctx context.Context, batches iter.Seq2[map[string]*tensor.Dense, error]) error {
	var current *feedBatch
	for batch, err := range batches {
		if err != nil {
			return fmt.Errorf("nn: after %d steps: %w", l.res.Steps, err)
		}
		next := l.exe.spare(current)
		if err := next.take(l.plan, batch); err != nil {
			return err
		}
		if !l.exe.late {
			next.collect(&l.exe.engine, l.plan)
		}
		if l.passed(next) {
			continue
		}
		if current != nil {
			if err := l.step(ctx, current, next); err != nil {
				return err
			}
		}
		current = next
	}
	if current == nil {
		return nil
	}
	return l.step(ctx, current, nil)
}

// spare returns the loop's batch memory that is not in use.
func (e *engine) spare(used *feedBatch) *feedBatch {
	if used == e.batches[1] {
		return e.batches[2]
	}
	return e.batches[1]
}

func (l *trainLoop) step(ctx context.Context, b, next *feedBatch) error {
	if err := l.runStep(ctx, b, next); err != nil {
		return err
	}
	last, err := l.plan.results(l.res.last[:0])
	if err != nil {
		return err
	}
	loss, weight := float64(l.plan.loss.value[0]), l.exe.weight(l.plan.loss.node, b.rows)
	l.res.count(&l.losses, loss, weight, b.rows)
	l.res.Elapsed, l.res.last = time.Since(l.began), last
	if l.crowd != nil {
		return l.crowd.step(ctx, l, loss, weight, b.rows)
	}
	l.report.step(l.res, loss, weight, b.rows)
	return l.notify(ctx, l.res)
}

// runStep makes a step while the threads are not paused.
func (l *trainLoop) runStep(ctx context.Context, b, next *feedBatch) error {
	if l.crowd != nil {
		l.crowd.steps.enter()
		defer l.crowd.steps.leave()
	}
	if !l.exe.working.CompareAndSwap(false, true) {
		return errInUse
	}
	defer l.exe.working.Store(false)
	silence(l.res.counted, true)
	defer silence(l.res.counted, false)
	return l.exe.runStep(ctx, l.plan, b, next)
}

// notify calls the function to be called after a step.
func (l *trainLoop) notify(ctx context.Context, so TrainResult) error {
	if l.after == nil {
		return nil
	}
	return l.after(ctx, so)
}

// crowd is the common state of threads that train together.
type crowd struct {
	began  time.Time
	loops  []trainLoop // of the threads
	counts *sharedCounts

	// steps has an element of each thread in its step. Who pauses all fills it: there is room for as many as threads.
	// Locks that threads hold while they wait for others are channels, so that time can be virtual in tests.
	steps seats
	one   seats // guards the fields below, with room for one

	report *report
	res    TrainResult
	losses float64
}

// step counts a thread's step, and reports it.
func (c *crowd) step(ctx context.Context, l *trainLoop, loss, weight float64, samples int) error {
	c.one.enter()
	defer c.one.leave()
	c.res.count(&c.losses, loss, weight, samples)
	c.res.Elapsed = l.res.Elapsed
	now := c.res
	now.last, now.counted, now.counts, now.steps = l.res.last, l.res.counted, l.res.counts, c.steps
	c.report.step(now, loss, weight, samples)
	return l.notify(ctx, now)
}

// passed counts the examples that a thread has skipped.
func (c *crowd) passed(samples int) {
	c.one.enter()
	defer c.one.leave()
	c.res.Passed += samples
}
