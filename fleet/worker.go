package fleet

import (
	"context"
	"errors"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/transport"
)

// InitWorker joins the job. It waits for the servers, for Strategy.StartTimeout at most, and pulls the first weights;
// if servers have none, worker 0 publishes those of its model first. In a collective job it waits for the other
// workers, and all take the weights of worker 0. A process alone does not wait. With a [strategy.Recovery] the job
// resumes from its newest checkpoint, if there is one, and [Fleet.Progress] says how far it was; a process alone that
// trains before InitWorker is refused then, since it would begin anew and replace the checkpoints.
//
// Pass the program's own ctx, such as that of signal.NotifyContext: when it ends, even after InitWorker has returned,
// the worker is about to end.
func (f *Fleet) InitWorker(ctx context.Context) error {
	j, err := f.worker(ctx, "InitWorker")
	if err != nil {
		return err
	}
	if err := f.begins.check(j); err != nil {
		return named("InitWorker", err)
	}
	if err := j.Join(ctx); err != nil {
		return named("InitWorker", err)
	}
	if m, is := j.Transport.(transport.Metered); is { // servers that were not up yet count as no failures
		f.early = m.Stats().Failed.Unreachable
	}
	return nil
}

// StopWorker sends queued gradients, tells the servers that this worker is done, and ends its part in the job. Servers
// end when all workers have stopped. In a collective job it takes part in the steps of workers that have more batches,
// and returns when all workers have called it. It may be called twice.
//
// With a [strategy.Recovery] the lowest live worker saves a checkpoint first. A failed save is retried, with a log line
// for each attempt, until it is complete or ctx or Strategy.WaitTimeout ends, which is an error. A training step after
// it is an error, in a process alone too, since no checkpoint would contain the step.
//
// In a process alone without an objective, such as a program that only predicts, it does nothing.
func (f *Fleet) StopWorker(ctx context.Context) error {
	if _, err := f.Plan(); f.id.Local() && errors.Is(err, ErrOrder) {
		return nil
	}
	j, err := f.workerCall("StopWorker")
	if err != nil {
		return err
	}
	if err := j.Flush(ctx); err != nil {
		return named("StopWorker", err)
	}
	err = j.Leave(ctx)
	f.seen.Hide()
	if !errors.Is(err, backend.ErrNotJoined) {
		f.tellStats()
	}
	return named("StopWorker", err)
}

// tellStats logs a worker's counters when it ends its part in the job.
func (f *Fleet) tellStats() {
	f.told.Do(func() {
		s := f.Stats()
		s.Transport.Failed.Unreachable -= f.early
		f.seen.Log.Debug("worker has stopped", "worker", f.id.Index, "stats", s)
	})
}

// BarrierWorker waits until every worker has called it or left the job. In sync mode it also ends this worker's epoch,
// so that workers with more batches can go on. After it all workers have the same weights and batch norm statistics. If
// ctx ends the wait, calling it again before another step or collective joins the same barrier.
func (f *Fleet) BarrierWorker(ctx context.Context) error {
	j, err := f.between(ctx, "BarrierWorker")
	if err == nil {
		err = f.enter("BarrierWorker")
	}
	if err != nil {
		return err
	}
	defer f.meets.Store(nil)
	return named("BarrierWorker", j.Barrier(ctx))
}
