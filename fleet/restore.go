package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/files"
)

// RestoreOptions say what of a directory a job begins with. The zero value is everything that is there.
type RestoreOptions struct {
	// Params are the names of the params to restore; empty means all. Then the checkpoint or model may be another's
	// that has them: a tower of its own on yesterday's embeddings. What is not restored begins anew, and so does the
	// count of updates.
	Params []string
	// WeightsOnly leaves the state of a checkpoint's update rule, so that a job may go on under another rule; its state
	// and its count of updates begin anew. A model that was saved for inference has weights alone in any case.
	WeightsOnly bool
}

// Restore has the job begin from what is in dir: a checkpoint of SavePersistables, written by any number of servers or
// by none, or a model of SaveInferenceModel, which has weights and rows alone. Every role of a job of any kind calls
// it, with the same directory and options, after Minimize and before InitServer or InitWorker. An empty dir restores
// nothing, as a program wants whose -load was not given.
//
// The keeper of the weights reads the directory: each server its share, so that it must be visible to all of them, a
// process that trains alone, and each worker of a collective job. A worker of servers reads nothing; its InitWorker
// fails unless every server was told the same. Servers that found different checkpoints there, and workers of a
// collective job that did, are refused too.
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
	if err := errors.Join(files.Check(dir), files.Ended(ctx)); err != nil {
		return named("Restore", err)
	}
	if from := f.begins.restored(); from != "" {
		return fmt.Errorf("fleet: Restore was called already: this job begins from %s: %w", from, ErrOrder)
	}
	if f.IsServer() {
		err = f.hosted.build(ctx, j, "Restore", dir, what)
	} else {
		err = named("Restore", j.backend.Restore(ctx, dir, what))
	}
	if err == nil {
		from := checkpoint.From(dir, what)
		f.begins.from.Store(&from)
	}
	return err
}

// origin is what gave a job its weights before it trained.
type origin struct {
	from   atomic.Pointer[string] // what Restore was given
	loaded atomic.Bool            // LoadModel has given weights
}

// restored is what Restore was given, empty before it.
func (o *origin) restored() string {
	if from := o.from.Load(); from != nil {
		return *from
	}
	return ""
}

// check refuses a Strategy.Recovery that would not go on from what is in its directory, where no server looks at it.
func (o *origin) check(j *job) error {
	if o.restored() != "" || o.loaded.Load() || len(j.id.Servers) > 0 {
		return nil
	}
	return checkpoint.Misplaced(j.strategy.Recovery.Dir)
}

// LoadModel gives the weights of a job that runs what [Fleet.Restore] reads, with state and counts; with params, these
// alone:
//
//   - A worker of servers that run calls it after InitWorker, while the others train or not. All servers, of any
//     number, read dir first, which they must see; then all take it in one cut between steps, for which pushes wait:
//     the same for all, or nothing. A server needs room for both meanwhile. A worker that is to begin with it waits at
//     a barrier: the worker that calls has it at its next step, and others at the first step after BarrierWorker, or a
//     call of Util, that they come to behind it. A gradient that another worker has computed before is added to it. In
//     mode geo the copies of other workers have it behind their next exchange, and what they had not sent is added.
//   - A process that trains alone calls it between two steps.
//   - In a collective job each worker loads the same, before InitWorker; what several directories have, one after the
//     other.
//
// While servers run, a call that fails has changed nothing, and what servers have begun to take all take, though the
// worker ends. One that can't, since it was started again and reads dir no more, has every role end with [ErrWentBack].
// In a job with a [strategy.Recovery] a checkpoint is saved right behind it: a role that is started again before that
// goes on from the one before, or with a journal reads dir again.
//
// All params of a checkpoint bring its number of updates and its factor on learning rates, as Restore does; some, or a
// saved model, take part as if they had been updated last now.
func (f *Fleet) LoadModel(ctx context.Context, dir string, params ...string) error {
	b, err := f.between(ctx, "LoadModel")
	if err != nil {
		return err
	}
	if err = errors.Join(checkDir(dir), files.Check(dir)); err == nil {
		err = b.Load(ctx, dir, checkpoint.Selection{Params: params})
	}
	if err == nil {
		f.begins.loaded.Store(true)
		if f.ServerNum() > 0 { // ranks load the same before they begin
			f.statistics.loaded()
		}
	}
	if errors.Is(err, backend.ErrNotJoined) {
		return fmt.Errorf("fleet: LoadModel: servers load a checkpoint: call it after InitWorker, when they run, call "+
			"Restore with %s on every role, or give it to InitServer: %w", dir, ErrRole)
	}
	return named("LoadModel", err)
}

// checkDir refuses a directory without a name.
func checkDir(dir string) error {
	if dir == "" {
		return fmt.Errorf("the directory's name is empty: %w", checkpoint.ErrNone)
	}
	return nil
}
