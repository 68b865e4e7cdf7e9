package fleet

import (
	"context"
	"errors"
	"time"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/inference"
	"github.com/gofleet/gofleet/optimizer"
)

// SavePersistables writes a checkpoint to dir: weights, the rule's state and step counters, as one consistent cut. Each
// server writes its part, so dir must be a directory that all of them share. The checkpoint is complete when the call
// returns; a previous one stays until then. Steps of other threads and workers wait some milliseconds, until servers
// have an image of their tables, and go on while it is written; rows that change meanwhile are copied first, which
// takes memory until the write is done. Any worker may call it; when several do for the same step, one acts. In a
// collective job, where all workers have the same weights, worker 0 writes, and calls of other workers do nothing.
//
// A running job owns the directories that it has saved into (the last 16): a call of another job is refused with an
// error that wraps ErrTaken and names the owner. A process that trains alone owns a directory only while it writes.
//
// Frozen dense params, such as batch norm statistics, are each worker's own between barriers. The checkpoint has the
// values of the worker that acts, as handed over by its executors (see nn.BatchNorm); after a barrier they are the mean
// of all workers. All workers of a job that begins from the checkpoint begin with them. Checkpoints of
// [strategy.Recovery] have every worker's own too, if those that its steps have set fit into a message.
//
// With params, only they are written, each with its state: for example a table to inspect, or to load into another
// model by Restore or InitServer with its name. This too replaces a checkpoint in dir, so use a separate directory.
func (f *Fleet) SavePersistables(ctx context.Context, dir string, params ...string) error {
	j, err := f.worker(ctx, "SavePersistables")
	if err != nil {
		return err
	}
	if dir, err = checkpoint.Place(dir); err == nil {
		err = j.Backend.Save(ctx, dir, params...)
	}
	return f.saved("SavePersistables", err)
}

// SaveInferenceModel writes a model that can be used without a fleet: graph.json, signature.json with its feeds and
// outputs and, where the model was made with it (nn.Inference(…).WithFormat), the format of its rows,
// weights.safetensors with the newest weights of every dense parameter and every row that was ever trained, by
// ascending id, and model.json with their checksums. If an embedding has a height and rows with given values
// ([optimizer.Assign], or your own initializer), these rows are written in any case. Package nn loads the model, and
// Python can read its weights; the documentation of nn shows how, and how to compute the values of rows that were never
// trained.
//
// The model is one consistent cut between steps, even while other workers train: all of it contains the same steps of
// every worker. The calling worker writes it to a directory on its own machine. Dense weights are copied; rows stream
// from the servers to the file in pages, so that no table has to fit into the worker's memory. Pulls go on meanwhile,
// but pushes wait until the last row has been transferred and written. If tables are large, save rarely and give the
// strategy a WaitTimeout longer than that. Without servers, the steps of this process wait.
//
// An existing model in the directory is replaced atomically: a process that loads it during the save, or after a crash
// at any moment, gets either the old model or the new one. A call that fails leaves the old one. An output that depends
// on a param which was not minimised and is not Frozen is an error, since nothing trains the param.
func (f *Fleet) SaveInferenceModel(ctx context.Context, dir string, m optimizer.Model) error {
	j, err := f.worker(ctx, "SaveInferenceModel")
	if err != nil {
		return err
	}
	if m == nil {
		err = errors.New("the model is nil: give it nn.Inference(outputs...)")
	}
	at, wrong := checkpoint.Place(dir)
	if err = errors.Join(err, wrong); err == nil {
		err = inference.Save(ctx, at, m, j.Backend)
	}
	return f.saved("SaveInferenceModel", err)
}

// saved names the error of a call that saves, and keeps it as a warning, since the program may go on.
func (f *Fleet) saved(call string, err error) error {
	if err = named(call, err); err != nil {
		f.seen.Warnings.Add("", err.Error(), false, time.Now())
	}
	return err
}
