package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/gofleet/gofleet/internal/replica"
	"github.com/gofleet/gofleet/optimizer"
)

// joinCollective finds the other workers of a collective job and takes worker 0's first weights.
func (f *Fleet) joinCollective(ctx context.Context) error {
	if err := f.replica.Join(ctx); err != nil {
		return f.explain("InitWorker", err)
	}
	return nil
}

// leaveCollective ends this worker's part when all have come to the end.
func (f *Fleet) leaveCollective(ctx context.Context) error {
	err := f.replica.Leave(ctx)
	f.tellStats()
	return f.explain("StopWorker", err)
}

// meet is a barrier of a collective job.
func (f *Fleet) meet(ctx context.Context) error {
	g, err := f.replica.Group(ctx)
	if err == nil {
		err = g.Barrier(ctx)
	}
	return f.explain("BarrierWorker", err)
}

// openReplica starts a training session of a collective job.
func (f *Fleet) openReplica(params []*optimizer.Param) (optimizer.Session, error) {
	s, err := f.replica.Open(params)
	if err != nil {
		return nil, f.explain("training", err)
	}
	return s, nil
}

// explain says which call failed, and what is missing where one came too early.
func (f *Fleet) explain(call string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, replica.ErrNotJoined):
		return fmt.Errorf("fleet: %s: call InitWorker first: %w", call, ErrOrder)
	case errors.Is(err, replica.ErrJoined):
		return fmt.Errorf("fleet: %s was called already: %w", call, ErrOrder)
	}
	return fmt.Errorf("fleet: %s: worker %d: %w", call, f.id.Index, err)
}
