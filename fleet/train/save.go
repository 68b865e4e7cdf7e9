package train

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/nn"
)

// checkpoint saves at an epoch's end, which all have come to.
func (r *Run) checkpoint(ctx context.Context) error {
	if err := r.progress(r.Epoch + 1); err != nil || !r.recovers || !r.leads {
		return err
	}
	return r.Fleet.Checkpoint(ctx)
}

// save has the worker that leads write what the job leaves.
func (r *Run) save(ctx context.Context) error {
	dir := r.Job.Out
	if dir == "" || !r.leads {
		return nil
	}
	if err := Save(ctx, r.Fleet, dir, r.Job.Outputs...); err != nil {
		return err
	}
	fmt.Fprintf(r.Job.Stdout, "saved %s\n", dir)
	return r.saved(ctx, dir)
}

// Save writes a checkpoint to go on from, dir/checkpoint, and, if there are outputs, a model for inference, dir/model. One worker calls it.
func Save(ctx context.Context, f *fleet.Fleet, dir string, outputs ...*nn.Node) error {
	if err := f.SavePersistables(ctx, filepath.Join(dir, "checkpoint")); err != nil || len(outputs) == 0 {
		return err
	}
	return f.SaveInferenceModel(ctx, filepath.Join(dir, "model"), nn.Inference(outputs...))
}
