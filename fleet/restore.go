package fleet

import (
	"context"
	"fmt"

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
	if _, err := f.minimized("Restore"); err != nil {
		return err
	}
	if dir == "" && len(o.Params) > 0 {
		return fmt.Errorf("fleet: Restore: params %q are to be restored, and the directory's name is empty: %w", o.Params, checkpoint.ErrNone)
	}
	if dir == "" {
		return nil
	}
	if err := f.restoreOnce(); err != nil {
		return err
	}
	var err error
	switch {
	case f.IsServer():
		err = f.initServer(ctx, "Restore", dir, what)
	case len(f.id.Servers) > 0:
		err = f.expect(ctx, dir)
	default:
		err = f.load(ctx, "Restore", dir, what)
	}
	if err == nil {
		f.mu.Lock()
		f.from = checkpoint.From(dir, what)
		f.mu.Unlock()
	}
	return err
}

// restoreOnce refuses a Restore that comes too late.
func (f *Fleet) restoreOnce() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.from != "":
		return fmt.Errorf("fleet: Restore was called already: this job begins from %s: %w", f.from, ErrOrder)
	case f.client != nil || f.replica != nil && f.replica.Joined():
		return fmt.Errorf("fleet: Restore: call it before InitWorker, on every role: %w", ErrOrder)
	}
	return nil
}

// expect is Restore of a worker whose servers read the directory.
func (f *Fleet) expect(ctx context.Context, dir string) error {
	err := files.Ended(ctx)
	if err == nil {
		err = files.CheckLocal(dir)
	}
	if err != nil {
		return fmt.Errorf("fleet: Restore: %w", err)
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
	if _, err := f.workerCall("LoadModel"); err != nil {
		return err
	}
	if len(f.id.Servers) > 0 {
		return fmt.Errorf("fleet: LoadModel: servers load a checkpoint: call Restore with %s on every role, give it to InitServer, or have every server call LoadModel before RunServer: %w",
			dir, ErrRole)
	}
	if f.replica != nil && f.replica.Joined() {
		return fmt.Errorf("fleet: LoadModel: call it before InitWorker, on every worker: %w", ErrOrder)
	}
	return f.load(ctx, "LoadModel", dir, checkpoint.Selection{Params: params})
}

// load fills the tables of a process that keeps all weights itself. When it fails midway they hold parts of two models, and nothing is
// trained with them.
func (f *Fleet) load(ctx context.Context, call, dir string, what checkpoint.Selection) error {
	everything := func(int, uint64) bool { return true }
	if err := files.Ended(ctx); err != nil {
		return fmt.Errorf("fleet: %s: %w", call, err)
	}
	var m checkpoint.Manifest
	err := f.local.Still(func() (err error) {
		m, err = checkpoint.Restore(ctx, dir, f.local.Store(), f.job.rule.Name(), f.job.layout.Params, everything, what)
		return err
	})
	if err != nil {
		err = fmt.Errorf("fleet: %s: %w", call, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if m.Changed && (err != nil || len(what.Params) == 0) {
		f.torn = err
	}
	if err != nil {
		return err
	}
	f.local.Changed()
	if f.replica != nil {
		f.replica.Loaded(m.Origin + ": " + what.String())
	}
	return nil
}

// whole says what went wrong when a load has left parts of two models, or nil.
func (f *Fleet) whole(call string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.torn != nil {
		return fmt.Errorf("fleet: %s: a part of the weights was loaded before that failed, load them again: %w", call, f.torn)
	}
	return nil
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
