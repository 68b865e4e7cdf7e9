package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/files"
)

// RestoreOptions say what of a directory a job begins with. The zero value is everything that is there.
type RestoreOptions struct {
	// Params are the names of those to restore; empty means all. Then the checkpoint or model may be another's that has them: a tower of
	// its own on yesterday's embeddings. What is not restored begins anew, and so does the count of updates.
	Params []string
	// WeightsOnly leaves the state of a checkpoint's update rule, so that a job may go on under another rule; its state and its
	// count of updates begin anew. A model that was saved for inference has weights alone in any case.
	WeightsOnly bool
}

// Restore has the job begin from what is in dir: a checkpoint of SavePersistables, written by any number of servers or by none, or a model
// of SaveInferenceModel, which has weights and rows alone. Every role of a job of any kind calls it, with the same directory and
// options, after Minimize and before InitServer or InitWorker. An empty dir restores nothing, as a program wants whose -load was
// not given.
//
// Whoever keeps weights reads the directory: each server its share, so that it must be visible to all of them, a process that trains
// alone, and each worker of a collective job. A worker of servers reads nothing; its InitWorker fails unless every server was told the
// same. Servers that found different checkpoints there, and workers of a collective job that did, are refused too.
//
// A job begins from one directory: a second call is an error.
func (f *Fleet) Restore(ctx context.Context, dir string, o RestoreOptions) error {
	what := checkpoint.Selection(o)
	j, err := f.minimized("Restore")
	if err != nil {
		return err
	}
	if dir == "" && len(o.Params) > 0 {
		return fmt.Errorf("fleet: Restore: params %q are to be restored, and the directory's name is empty: %w",
			o.Params, checkpoint.ErrNone)
	}
	if dir == "" {
		return nil
	}
	if err := errors.Join(files.CheckLocal(dir), files.Ended(ctx)); err != nil {
		return named("Restore", err)
	}
	if err := f.restoreOnce(); err != nil {
		return err
	}
	if f.IsServer() {
		err = f.initServer(ctx, "Restore", dir, what)
	} else {
		err = named("Restore", j.backend.Restore(ctx, dir, what))
	}
	if err == nil {
		f.mu.Lock()
		f.from = checkpoint.From(dir, what)
		f.mu.Unlock()
	}
	return err
}

// restoreOnce refuses a Restore that comes again.
func (f *Fleet) restoreOnce() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.from != "" {
		return fmt.Errorf("fleet: Restore was called already: this job begins from %s: %w", f.from, ErrOrder)
	}
	return nil
}

// LoadModel fills the tables of a process that keeps weights from what [Fleet.Restore] reads, at other times: those of a process that
// trains alone, between two steps (moving averages of batch norm stay in an executor that has trained already; close it and begin another);
// those of a worker of a collective job, where each loads the same, before InitWorker; those of a server, where each loads the same,
// between InitServer and RunServer. Workers of servers get the weights by InitWorker, and rows when they touch them; for them it is an
// error. With params, only those are loaded.
func (f *Fleet) LoadModel(ctx context.Context, dir string, params ...string) error {
	if f.IsServer() {
		return f.loadServer(ctx, dir, params)
	}
	j, err := f.worker(ctx, "LoadModel")
	if err != nil {
		return err
	}
	if _, holds := j.backend.(backend.Holder); !holds {
		return fmt.Errorf("fleet: LoadModel: servers load a checkpoint: call Restore with %s on every role, give it to InitServer, "+
			"or have every server call LoadModel before RunServer: %w", dir, ErrRole)
	}
	return named("LoadModel", j.backend.Restore(ctx, dir, checkpoint.Selection{Params: params}))
}

// loadServer replaces the tables of a server that does not serve yet by those of a checkpoint.
func (f *Fleet) loadServer(ctx context.Context, dir string, params []string) error {
	if _, err := f.serverCall("LoadModel"); err != nil {
		return err
	}
	f.mu.Lock()
	made := f.server != nil
	f.mu.Unlock()
	switch {
	case !made:
		return fmt.Errorf("fleet: LoadModel: call InitServer first: %w", ErrOrder)
	case dir == "":
		return fmt.Errorf("fleet: LoadModel: the directory's name is empty: %w", checkpoint.ErrNone)
	}
	return f.initServer(ctx, "LoadModel", dir, checkpoint.Selection{Params: params})
}
