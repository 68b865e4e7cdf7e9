package fleet

import (
	"context"

	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/inference"
	"github.com/gofleet/gofleet/optimizer"
)

// SavePersistables writes a checkpoint to dir: weights, the rule's state and step counters, as one consistent cut. The
// servers write, each its part, so dir must be a directory that all of them share; it is complete when the call
// returns, and the one that was there before stays until then. Steps of other threads and workers wait some
// milliseconds, until servers have an image of their tables, and go on while it is written; what they change meanwhile
// is copied first, and takes memory until then. Any worker may call it; when several do for the same step, one acts. In
// a collective job, where all workers have the same weights, worker 0 writes when it calls, and the others' calls do
// nothing.
//
// As long as a job lives, the directories that it has saved into (the last 16) are its own: another job's call is
// refused, with an error that wraps ErrTaken and names the first. A process that trains alone has one to itself while
// it writes.
//
// Frozen dense params, such as the statistics of batch norm, are each worker's own between barriers: the checkpoint has
// the values of the worker that acts, as its executors have handed them over (see nn.BatchNorm), behind a barrier the
// mean of all; and all workers of a job that begins from it begin with them.
//
// With params, only they are written, each with its state: a table to look at, or to give to another model, whose
// Restore or InitServer names it. It replaces a checkpoint that is in dir: give it a directory of its own.
func (f *Fleet) SavePersistables(ctx context.Context, dir string, params ...string) error {
	j, err := f.worker(ctx, "SavePersistables")
	if err != nil {
		return err
	}
	if err = files.Check(dir); err == nil {
		err = j.backend.Save(ctx, dir, params...)
	}
	return named("SavePersistables", err)
}

// SaveInferenceModel writes a model that can be used without a fleet: graph.json, signature.json with its feeds and
// outputs and, where the model was made with it (nn.Inference(…).WithFormat), the format of its rows,
// weights.safetensors with the newest weights of every dense parameter and every row that was ever trained, by
// ascending id, and model.json with their checksums. Rows of an embedding with a height that have given values
// ([optimizer.Assign], or an initializer of one's own) are written in any case. Package nn loads it, and Python reads
// its weights; the doc of nn tells how, and how Python makes the values of rows that were never trained.
//
// The model is one cut between steps, the same steps of every worker in all of it, also while others train. This worker
// writes, into a directory of its own machine: dense weights are copied, rows stream from the servers to the file in
// pages, so that no table has to fit into its memory. Pulls go on meanwhile, pushes wait until the last row has come,
// which is as long as the rows take to travel and to be written: save seldom where tables are large, and give the
// strategy a WaitTimeout that is longer. Without servers, steps of this process wait.
//
// A model that was in the directory is replaced as a whole: a process that loads it while the new one is written, or
// after a crash at any moment, has the old one or the new one. A call that fails leaves the old one.
func (f *Fleet) SaveInferenceModel(ctx context.Context, dir string, m optimizer.Model) error {
	j, err := f.worker(ctx, "SaveInferenceModel")
	if err != nil {
		return err
	}
	return named("SaveInferenceModel", inference.Save(ctx, dir, m, j.backend))
}
