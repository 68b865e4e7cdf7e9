package fleet

import (
	"context"
	"fmt"
	"time"

	"github.com/gofleet/gofleet/internal/epoch"
	"github.com/gofleet/gofleet/internal/job"
)

func init() {
	epoch.Ask = func(ctx context.Context, f any, at epoch.At) (*epoch.Told, error) { return f.(*Fleet).ask(ctx, at) }
	epoch.InPlaceOf = func(f any, worker int) (any, error) { return f.(*Fleet).inPlaceOf(worker) }
}

// ask sends where this worker is in the job's epochs, and returns what it does next.
func (f *Fleet) ask(ctx context.Context, at epoch.At) (*epoch.Told, error) {
	told, err := meet(ctx, f, "train.Job", func(j *job.Job) (*epoch.Told, error) { return j.Ask(ctx, at) })
	if err == nil && told.Do != "" {
		f.leads.Store(told.Lead == f.id.Index && told.Do != epoch.Over)
	}
	return told, err
}

// inPlaceOf returns a fleet that takes the place of another worker. The process can then train what that worker has
// left untrained.
func (f *Fleet) inPlaceOf(worker int) (*Fleet, error) {
	if !f.IsWorker() || f.ServerNum() == 0 || worker < 0 || worker >= f.id.Workers || worker == f.id.Index {
		return nil, fmt.Errorf("fleet: this is %v, which can't take the place of worker %d: %w", f, worker, ErrRole)
	}
	id := f.id
	id.Index = worker
	return &Fleet{id: id, options: f.options, seen: f.seen.Another(), began: time.Now()}, nil
}
