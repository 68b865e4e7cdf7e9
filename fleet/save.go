package fleet

import (
	"context"

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
	j, err := f.worker(ctx, "SavePersistables")
	if err != nil {
		return err
	}
	if err = files.CheckLocal(dir); err == nil {
		err = j.backend.Save(ctx, dir)
	}
	return named("SavePersistables", err)
}
