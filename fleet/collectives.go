package fleet

import (
	"context"
	"fmt"

	"github.com/gofleet/gofleet/internal/job"
)

// ReduceOp is the operation of an all-reduce.
type ReduceOp string

const (
	// Sum adds, in the order of workers.
	Sum ReduceOp = "sum"
	// Max takes the largest; NaN wins.
	Max ReduceOp = "max"
	// Min takes the smallest; NaN wins.
	Min ReduceOp = "min"
)

// AllReduce combines the workers' x element by element with op. x must have the same length on all workers, and is not
// changed.
func (f *Fleet) AllReduce(ctx context.Context, x []float64, op ReduceOp) ([]float64, error) {
	return allReduce(ctx, f, "AllReduce", x, op)
}

// AllReduceInts is AllReduce for whole numbers; sums are exact.
func (f *Fleet) AllReduceInts(ctx context.Context, x []int64, op ReduceOp) ([]int64, error) {
	return allReduce(ctx, f, "AllReduceInts", x, op)
}

func allReduce[E int64 | float64](ctx context.Context, f *Fleet, call string, x []E, op ReduceOp) ([]E, error) {
	return meet(ctx, f, call, func(j *job.Job) ([]E, error) { return job.AllReduce(ctx, j, call, x, string(op)) })
}

// AllGather returns every worker's x by worker index; the lengths may differ. The entry is nil for a worker that has
// left the job, and empty for a worker whose x was empty.
func (f *Fleet) AllGather(ctx context.Context, x []float64) ([][]float64, error) {
	const call = "AllGather"
	return meet(ctx, f, call, func(j *job.Job) ([][]float64, error) { return j.AllGather(ctx, call, x) })
}

// AllGatherBytes is AllGather for bytes, such as rows that workers exchange. In jobs with servers, server 0 collects
// all data and sends it to each worker, so pass pieces of about a megabyte. With this method a Fleet can be passed to
// GlobalShuffle of package dataset.
func (f *Fleet) AllGatherBytes(ctx context.Context, data []byte) ([][]byte, error) {
	const call = "AllGatherBytes"
	if data == nil {
		data = []byte{}
	}
	return meet(ctx, f, call, func(j *job.Job) ([][]byte, error) { return j.Gather(ctx, call, data) })
}

// meet makes a collective of the job.
func meet[T any](ctx context.Context, f *Fleet, call string, do func(*job.Job) (T, error)) (all T, err error) {
	j, err := f.meeting(ctx, call)
	if err != nil {
		return all, err
	}
	defer f.meets.Store(nil)
	all, err = do(j)
	return all, named(call, err)
}

// meeting returns the job for a collective, which is under way until meets is nil again. A process alone needs
// none, and may call before Minimize.
func (f *Fleet) meeting(ctx context.Context, call string) (*job.Job, error) {
	f.mu.Lock()
	early := f.job == nil && f.id.Local()
	f.mu.Unlock()
	if early {
		return job.Alone(), nil
	}
	j, err := f.between(ctx, call)
	if err == nil {
		err = f.enter(call)
	}
	return j, err
}

// enter begins a collective, which ends when meets is nil again. It refuses a second one at the same time: workers
// number their collectives, so that one goroutine's would be paired with another's of another worker.
func (f *Fleet) enter(call string) error {
	for !f.id.Local() && !f.meets.CompareAndSwap(nil, &call) {
		if other := f.meets.Load(); other != nil {
			return fmt.Errorf("fleet: %s: another goroutine is in %s: make collectives one after the other, in the "+
				"same order on every worker: %w", call, *other, ErrOrder)
		}
	}
	return nil
}
