package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/job"
)

// minimized returns the job, or an error before Minimize.
func (f *Fleet) minimized(call string) (*job.Job, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.job == nil {
		return nil, fmt.Errorf("fleet: %s: call DistributedOptimizer and Minimize first: %w", call, ErrOrder)
	}
	return f.job, nil
}

// workerCall refuses a call of a server, and one before Minimize.
func (f *Fleet) workerCall(call string) (*job.Job, error) {
	if !f.IsWorker() {
		return nil, fmt.Errorf("fleet: %s: this is %v; its calls are InitServer and RunServer: %w", call, f, ErrRole)
	}
	return f.minimized(call)
}

// worker returns the job of a worker after Minimize, for a call whose context has not ended.
func (f *Fleet) worker(ctx context.Context, call string) (*job.Job, error) {
	j, err := f.workerCall(call)
	if err == nil && ctx.Err() != nil {
		err = named(call, context.Cause(ctx))
	}
	return j, err
}

// between returns a worker's job after all its steps have been passed on, for a call that ends the epoch.
func (f *Fleet) between(ctx context.Context, call string) (*job.Job, error) {
	j, err := f.worker(ctx, call)
	if err == nil {
		err = named(call, j.Flush(ctx))
	}
	return j, err
}

// named adds the failed call to an error, and the missing call if it was too early or too late.
func named(call string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, backend.ErrNotJoined):
		return fmt.Errorf("fleet: %s: call InitWorker first: %w", call, ErrOrder)
	case errors.Is(err, backend.ErrJoined) && call == "InitWorker":
		return fmt.Errorf("fleet: InitWorker was called already: %w", ErrOrder)
	case errors.Is(err, job.ErrLeft):
		return fmt.Errorf("fleet: %s: %w: %w", call, err, ErrOrder)
	case errors.Is(err, backend.ErrJoined):
		return fmt.Errorf("fleet: %s: call it before InitWorker, on every role: %w", call, ErrOrder)
	}
	return fmt.Errorf("fleet: %s: %w", call, err)
}
