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

// TrainResult is the result of a training loop.
type TrainResult struct {
	// Steps and Samples count batches and examples that were trained on.
	Steps, Samples int
	// Passed counts examples that were skipped because the weights already contain them, when the job resumes in the
	// middle of the epoch. The other numbers, and metrics, cover only the rest.
	Passed int
	// Elapsed is the time that the loop took, including waiting for batches.
	Elapsed time.Duration
	// Loss is the mean loss of all examples, each as of the step that trained it, weighted if the loss is a
	// [WeightedMean]. Weight is the sum of the weights then, and otherwise Samples.
	Loss, Weight float64

	last    []*tensor.Dense
	counted []*cell         // metrics of last, whose values are those of some step before
	counts  map[*Node]tally // of metrics that were fetched
	crowd   *crowd          // of the step's thread, nil if there are no others
}

// Last returns the fetches of the last step, valid until the executor's next call; nil when there was no step. Metrics
// over several batches have the values of all steps so far, which are computed when they are asked for.
func (r TrainResult) Last() []*tensor.Dense {
	if r.last != nil {
		for _, c := range r.counted {
			c.seen()
		}
	}
	return r.last
}

// Rate returns the number of examples per second.
func (r TrainResult) Rate() float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(r.Samples) / r.Elapsed.Seconds()
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

// count counts a step, and adds its loss, times the batch's weight, to the losses.
func (r *TrainResult) count(losses *float64, loss, weight float64, samples int) {
	r.Steps++
	r.Samples += samples
	if weight > 0 {
		*losses += loss * weight
		r.Weight += weight
		r.Loss = *losses / r.Weight
	}
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

// Histogram is [Executor.Histogram] of an AUC or a BucketError node that was fetched, with the counts of all threads.
// Without threads the slices are the executor's.
func (r TrainResult) Histogram(auc *Node) (pos, neg []int64, err error) {
	return histogramOf(r.tally("Histogram", auc))
}

// Hits is [Executor.Hits] of a node that was fetched, with the counts of all threads.
func (r TrainResult) Hits(accuracy *Node) (hit, total int64, err error) {
	return hitsOf(r.tally("Hits", accuracy))
}

// Errors is [Executor.Errors] of a node that was fetched, with the sums of all threads.
func (r TrainResult) Errors(node *Node) (abs, sqr float64, n int64, err error) {
	return errorsOf(r.tally("Errors", node))
}

// Sums is [Executor.Sums] of a metric that was fetched, with the counts of all threads.
func (r TrainResult) Sums(metric *Node) ([]float64, error) { return sumsOf(r.tally("Sums", metric)) }

func (r TrainResult) tally(method string, n *Node) (*Node, tally, error) {
	if t := r.counts[n]; t != nil {
		return n, t, nil
	}
	if n == nil {
		return n, nil, fmt.Errorf("nn: %s: the node is nil", method)
	}
	return n, nil, fmt.Errorf("nn: %s: metric %s was not fetched: name it in TrainOptions.Fetch", method, n.label())
}
