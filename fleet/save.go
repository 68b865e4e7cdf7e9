package fleet

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/files"
)

// SavePersistables writes a checkpoint to dir: weights, the rule's state and step counters, as one consistent cut. The servers
// write, each its part, so dir must be a directory that all of them share; it is complete when the call returns, and the one
// that was there before stays until then. Any worker may call it; when several do for the same step, one acts. In a collective job,
// where all workers have the same weights, worker 0 writes when it calls, and the others' calls do nothing.
//
// Frozen dense params, such as the statistics of batch norm, are each worker's own: the checkpoint has those of the worker that
// acts, as its executors have handed them over (see nn.BatchNorm), and all workers of a job that begins from it begin with them.
func (f *Fleet) SavePersistables(ctx context.Context, dir string) error {
	j, err := f.workerCall("SavePersistables")
	if err != nil {
		return err
	}
	if err := errors.Join(files.CheckLocal(dir), files.Ended(ctx)); err != nil {
		return fmt.Errorf("fleet: SavePersistables: %w", err)
	}
	if f.IsCollective() && !f.IsFirstWorker() {
		return nil
	}
	c, err := f.joined("SavePersistables")
	if err != nil {
		return err
	}
	if c == nil {
		err = f.local.Still(func() error { return f.saveLocal(ctx, dir, j) })
	} else if dir, err = filepath.Abs(dir); err == nil {
		err = c.Save(ctx, dir)
	}
	if err != nil {
		return fmt.Errorf("fleet: SavePersistables: %w", err)
	}
	return nil
}

// saveLocal writes the checkpoint of a process that has its weights itself.
func (f *Fleet) saveLocal(ctx context.Context, dir string, j *job) error {
	store, rate := f.local.Store(), f.local.RateFactor()
	if f.replica != nil {
		rate = f.replica.RateFactor()
	}
	id := fmt.Sprintf("%d-local", store.Step())
	part, err := checkpoint.WritePart(ctx, dir, checkpoint.PartName(id, 0, 1), store)
	if err != nil {
		return err
	}
	m := checkpoint.Manifest{ID: id, Rule: j.rule.Name(), Step: store.Step(), RateFactors: store.RateFactors(rate), Params: checkpoint.Params(j.layout.Params), Parts: []checkpoint.Part{part}}
	return checkpoint.Commit(dir, m)
}
