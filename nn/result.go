package nn

import (
	"fmt"
	"time"

	"gorgonia.org/tensor"
)

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
	steps   seats           // of the threads that train together, nil if there are no others
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

// Still pauses the other threads of [TrainThreads] between two steps until resume is called, so that TrainOptions.Step
// can measure and save the same weights. Call it only from Step, on the result that Step was given, and not in mode
// half_async with servers, where threads wait for each other in their steps. In mode async gradients may be on their
// way to servers then, also with one thread: a barrier or a collective before the measurement waits for them.
func (r TrainResult) Still() (resume func()) {
	for range cap(r.steps) {
		r.steps.enter()
	}
	return func() {
		for range cap(r.steps) {
			r.steps.leave()
		}
	}
}

// seats is a channel that holds an element of each goroutine inside.
type seats chan struct{}

func (g seats) enter() { g <- struct{}{} }
func (g seats) leave() { <-g }

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
