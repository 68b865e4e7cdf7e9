package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/transport"
)

// InitWorker joins the job: it waits for the servers (until Strategy.StartTimeout), and brings the first weights:
// worker 0 publishes its model's where servers have none, and all pull. In a collective job it waits for the
// other workers, and all take the weights of worker 0. Alone, there is nothing to wait for. With a [strategy.Recovery]
// the job goes on from its newest checkpoint, if there is one, and [Fleet.Progress] says how far it was.
//
// ctx is the program's own, such as that of signal.NotifyContext: when it ends, later too, the worker is about to end.
func (f *Fleet) InitWorker(ctx context.Context) error {
	j, err := f.worker(ctx, "InitWorker")
	if err != nil {
		return err
	}
	if err := f.begins.check(j); err != nil {
		return named("InitWorker", err)
	}
	if err := j.backend.Join(ctx); err != nil {
		return named("InitWorker", err)
	}
	if m, is := j.transport.(transport.Metered); is { // that servers were not up yet is no failure to tell at the end
		f.early = m.Stats().Failed.Unreachable
	}
	j.goOn(f.Progress().Epoch)
	f.saving.start(ctx, j)
	return nil
}

// InPlaceOf is a fleet in this process that takes the place of another worker of a job with servers, which has ended:
// its next life, for a process that trains what the worker has left. It is refused while the worker lives, and in modes
// sync and ssp.
func (f *Fleet) InPlaceOf(worker int) (*Fleet, error) {
	if !f.IsWorker() || f.ServerNum() == 0 {
		return nil, fmt.Errorf("fleet: InPlaceOf(%d): this is %v, and a worker of a job with servers takes another's "+
			"place: %w",
			worker, f, ErrRole)
	}
	if worker < 0 || worker >= f.id.Workers || worker == f.id.Index {
		return nil, fmt.Errorf("fleet: InPlaceOf(%d): this is %v: there is no such other worker", worker, f)
	}
	id := f.id
	id.Index = worker
	return &Fleet{id: id, options: f.options, log: f.log, probes: probes{board: f.probes.board}, pages: f.pages}, nil
}

// StopWorker sends what is still queued, tells the servers that this worker is done, and ends its part in the job.
// Servers end when all workers have stopped. In a collective job it takes part in the steps of workers that have more
// batches, and returns when all have called it. It may be called twice.
//
// With a [strategy.Recovery] the lowest worker that lives saves a checkpoint first. One that fails is tried again,
// every attempt with a line in the log, until it is whole, or ctx or Strategy.WaitTimeout ends, which is an error.
//
// Alone, without an objective, as where a saved model predicts, there is nothing to stop.
func (f *Fleet) StopWorker(ctx context.Context) error {
	if _, err := f.Plan(); f.IsLocal() && errors.Is(err, ErrOrder) {
		return nil
	}
	j, err := f.workerCall("StopWorker")
	if err != nil {
		return err
	}
	if err := f.merged.flush(ctx); err != nil {
		return named("StopWorker", err)
	}
	var unsaved error
	if s := f.saving.end(); s != nil {
		if unsaved = s.last(ctx); unsaved != nil {
			s.rescue()
		}
	}
	err = errors.Join(unsaved, j.backend.Leave(ctx))
	f.probes.hide()
	if !errors.Is(err, backend.ErrNotJoined) {
		f.tellStats()
	}
	return named("StopWorker", err)
}

// tellStats logs what a worker has counted, when it ends its part in the job.
func (f *Fleet) tellStats() {
	f.told.Do(func() {
		s := f.Stats()
		s.Transport.Failed.Unreachable -= f.early
		f.log.Info("worker has stopped", "worker", f.id.Index, "stats", s)
	})
}

// BarrierWorker waits until every worker has called it, or has left the job. In sync mode it ends this worker's epoch,
// so that others with more batches go on. Behind it all workers have the same weights, statistics of batch norm too. A
// barrier that ended by its context is the same barrier if it is called again before another step or collective.
func (f *Fleet) BarrierWorker(ctx context.Context) error {
	b, err := f.between(ctx, "BarrierWorker")
	if err != nil {
		return err
	}
	if f.statistics.apart {
		_, err = f.statistics.gather(ctx, b, "BarrierWorker", nil)
	} else {
		err = b.Barrier(ctx)
	}
	return named("BarrierWorker", err)
}
