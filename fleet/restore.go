package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/job"
)

// RestoreOptions select what Restore reads from a directory. The zero value reads everything.
type RestoreOptions struct {
	// Params are the names of the params to restore; empty means all. With names, the checkpoint may be of a different
	// model that has these params, for example to train a new tower on yesterday's embeddings. Other params begin anew,
	// and so does the count of updates.
	Params []string
	// WeightsOnly ignores the state of the checkpoint's update rule, so that a job may continue under a different rule,
	// whose state and count of updates begin anew. A model saved for inference has only weights in any case.
	WeightsOnly bool
}

// Restore makes the job begin from the contents of dir: a checkpoint of SavePersistables, written by any number of
// servers or none, or a model of SaveInferenceModel, which has only weights and rows. Every role of every kind of job
// calls it with the same directory and options, after Minimize and before InitServer or InitWorker. An empty dir
// restores nothing, which suits a program whose -load flag was not given.
//
// The processes that keep weights read the directory: each server reads its share, so all servers must be able to reach
// it; a process alone and each worker of a collective job read all of it. A worker of a job with servers reads nothing,
// and its InitWorker fails unless every server was given the same arguments. Servers, or workers of a collective job,
// that found different checkpoints there are refused too.
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
	if _, err = checkpoint.Place(dir); err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return named("Restore", err)
	}
	if from := f.begins.restored(); from != "" {
		return fmt.Errorf("fleet: Restore was called already: this job begins from %s: %w", from, ErrOrder)
	}
	if f.IsServer() {
		err = f.hosted.build(ctx, j, "Restore", dir, what)
	} else {
		err = named("Restore", j.Backend.Restore(ctx, dir, what))
	}
	if err == nil {
		from := checkpoint.From(dir, what)
		f.begins.from.Store(&from)
	}
	return err
}

// origin is the source of a job's weights before it trained.
type origin struct {
	from   atomic.Pointer[string] // the directory of Restore
	loaded atomic.Bool            // LoadModel has loaded weights
}

// restored is the directory of Restore, "" before it.
func (o *origin) restored() string {
	if from := o.from.Load(); from != nil {
		return *from
	}
	return ""
}

// check refuses a Strategy.Recovery that would not go on from the checkpoint in its directory, in jobs without a server
// that checks it.
func (o *origin) check(j *job.Job) error {
	if o.restored() != "" || o.loaded.Load() || len(j.ID.Servers) > 0 {
		return nil
	}
	return checkpoint.Misplaced(j.Strategy.Recovery.Dir)
}

// LoadModel replaces the weights, state and counts of a running job by what [Fleet.Restore] reads from dir; with
// params, only theirs:
//
//   - In a job with servers, one worker calls it after InitWorker; the others may be training. First all servers read
//     dir, which all of them must be able to reach. Then all switch in one cut between steps, while pushes wait: either
//     all servers switch or none does. A server needs memory for both meanwhile. The calling worker has the new weights
//     at its next step, other workers at their first step after the next BarrierWorker or collective; to make all
//     workers begin with them, wait at a barrier. A gradient that another worker computed before is applied to the new
//     weights. In mode geo the copies of other workers have them after their next exchange, and changes that they had
//     not sent are added.
//   - A process that trains alone calls it between steps.
//   - In a collective job each worker loads the same, before InitWorker. Several directories are loaded one after the
//     other.
//
// While servers run, a call that fails has changed nothing. Once servers have begun to switch, all of them do, even if
// the calling worker dies. If a server cannot, because it was restarted and can no longer read dir, every role ends
// with [ErrWentBack]. In a job with a [strategy.Recovery] a checkpoint is saved right afterwards: a role that restarts
// before then resumes from the previous checkpoint or, with a journal, reads dir again.
//
// Loading all params of a checkpoint also restores its number of updates and its factor on learning rates, as Restore
// does. Loading some params, or a saved model, keeps the job's counts: the loaded rows count as updated now.
func (f *Fleet) LoadModel(ctx context.Context, dir string, params ...string) error {
	j, err := f.between(ctx, "LoadModel")
	if err != nil {
		return err
	}
	if dir, err = checkpoint.Place(dir); err == nil {
		err = j.Backend.Load(ctx, dir, checkpoint.Selection{Params: params})
	}
	if err == nil {
		f.begins.loaded.Store(true)
		if f.ServerNum() > 0 { // ranks load the same before they join
			j.Loaded()
		}
	}
	if errors.Is(err, backend.ErrNotJoined) {
		return fmt.Errorf("fleet: LoadModel: servers load a checkpoint: call it after InitWorker, when they run, call "+
			"Restore with %s on every role, or give it to InitServer: %w", dir, ErrRole)
	}
	return named("LoadModel", err)
}
