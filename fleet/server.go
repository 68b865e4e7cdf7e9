package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/gofleet/gofleet/fleet/stats"
	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/job"
	"github.com/gofleet/gofleet/internal/observe"
	"github.com/gofleet/gofleet/internal/server"
)

// InitServer makes this server's tables. With an empty dir they hold what [Fleet.Restore] read or, without Restore, are
// fresh: worker 0 then publishes the first dense weights, and rows are created when they are first used. With a
// [strategy.Recovery] its newest checkpoint takes precedence over all of these.
//
// dir has the same meaning as in Restore, for programs in which only servers name it: a checkpoint of SavePersistables,
// written by any number of servers, or a saved model. With params, only they are read. All servers must pass the same
// arguments.
func (f *Fleet) InitServer(ctx context.Context, dir string, params ...string) error {
	j, err := f.serverCall("InitServer")
	if err != nil {
		return err
	}
	from := f.begins.restored()
	_, serving := f.hosted.now()
	switch {
	case from == "" || serving:
		return f.hosted.build(ctx, j, "InitServer", dir, checkpoint.Selection{Params: params})
	case dir != "" || len(params) > 0:
		return fmt.Errorf("fleet: InitServer: Restore has begun from %s: give InitServer no directory: %w", from,
			ErrOrder)
	case ctx.Err() != nil:
		return fmt.Errorf("fleet: InitServer: %w", context.Cause(ctx))
	}
	return nil
}

// hosting is the state of a server in its job: its tables, and whether they are being served.
type hosting struct {
	mu      sync.Mutex
	server  *server.Server // since InitServer
	serving bool           // RunServer has begun
}

// build makes new tables. It replaces earlier ones unless they are being served.
func (h *hosting) build(ctx context.Context, j *job.Job, call, dir string, what checkpoint.Selection) error {
	if ctx.Err() != nil {
		return fmt.Errorf("fleet: %s: %w", call, context.Cause(ctx))
	}
	h.release()
	s, err := server.New(j.Server)
	if err == nil {
		s, err = fill(ctx, j, s, dir, what)
	}
	if err != nil {
		return fmt.Errorf("fleet: %s: %w", call, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.serving {
		return fmt.Errorf("fleet: %s: call it before RunServer, which has begun: %w", call, ErrOrder)
	}
	h.server = s
	return nil
}

// release closes the journal of earlier tables, unless they are being served.
func (h *hosting) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.server != nil && !h.serving {
		h.server.Release()
	}
}

// serve returns the server, and marks it as serving.
func (h *hosting) serve() (*server.Server, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.server == nil:
		return nil, fmt.Errorf("fleet: RunServer: call InitServer first: %w", ErrOrder)
	case h.serving:
		return nil, fmt.Errorf("fleet: RunServer was called already: %w", ErrOrder)
	}
	h.serving = true
	return h.server, nil
}

// now returns the server, nil before InitServer, and whether it serves.
func (h *hosting) now() (s *server.Server, serving bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.server, h.serving
}

// fill fills a server's tables: from its journal if there is one, else with what the job begins with. It returns the
// server, which is a new one if the journal could not be restored.
func fill(ctx context.Context, j *job.Job, s *server.Server, dir string,
	what checkpoint.Selection) (*server.Server, error) {
	returned, err := s.Return(ctx)
	if errors.Is(err, server.ErrNoReturn) {
		j.Log.Warn("begins anew: if the job goes on, it goes back to its last checkpoint", "error", err)
		if s, err = server.New(j.Server); err == nil {
			returned, err = s.Return(ctx)
		}
	}
	if returned || err != nil {
		return s, err
	}
	return s, begin(ctx, s, j.Strategy.Recovery.Dir, dir, what)
}

// begin fills a server's tables with what the job begins with: the newest checkpoint of a series, else dir.
func begin(ctx context.Context, s *server.Server, series, dir string, what checkpoint.Selection) error {
	if dir == "" && len(what.Params) > 0 {
		return fmt.Errorf("params %q are to be loaded, and the directory's name is empty: %w", what.Params,
			checkpoint.ErrNone)
	}
	told := ""
	if dir != "" {
		told = checkpoint.From(dir, what)
	}
	switch found, err := s.Resume(ctx, told); {
	case found || err != nil:
		return err
	case dir != "":
		return s.Restore(ctx, dir, what)
	}
	if err := checkpoint.Misplaced(series); err != nil {
		return err
	}
	return s.Begin(ctx)
}

// RunServer serves until every worker has called StopWorker, or ctx ends. It returns an error that wraps ErrWorkersDied
// if a worker died without calling it, and ctx's cause if ctx ended. With a [strategy.Recovery], after ctx ends it
// serves on, for a minute at most, until the lowest live worker has saved a checkpoint and the workers that were asked
// to end too have ended. It then logs its [Stats].
func (f *Fleet) RunServer(ctx context.Context) error {
	j, err := f.serverCall("RunServer")
	if err != nil {
		return err
	}
	s, err := f.hosted.serve()
	if err != nil {
		return err
	}
	defer f.seen.Hide()
	defer watchMemory(func() []stats.Table { return f.Stats().Tables }, f.seen.Log)()
	err = s.Run(ctx)
	if !errors.Is(err, server.ErrListen) {
		f.seen.Log.Info("server has ended", "server", f.id.Index, "stats", f.Stats())
	}
	if errors.Is(err, server.ErrUnsaved) {
		j.Lose(server.ErrUnsaved)
	}
	if err != nil {
		return fmt.Errorf("fleet: RunServer: %w", err)
	}
	return nil
}

// ErrWorkersDied reports that a job ended although some workers never called StopWorker.
var ErrWorkersDied = server.ErrWorkersDied

// ErrMissing reports that the job could not begin because one of its roles did not join within Strategy.StartTimeout.
var ErrMissing = server.ErrMissing

// ErrDeserted reports that workers which were asked to end, or killed, did not come back within
// [strategy.Strategy.WorkersReturn], and no other worker was left. It wraps ErrWorkersDied and ErrWentBack: the job
// resumes when all roles are started again.
var ErrDeserted = server.ErrDeserted

// ErrWentBack reports that a server died or restarted in the middle of a job and lost its weights. No role can go on,
// and the job must restart from its last checkpoint. All servers and workers return it; the error that wraps it names
// the role that failed. In modes sync and ssp a worker's death has the same effect on a job with a Recovery.Dir, unless
// WorkerLost says otherwise. In a job without one, a worker that was restarted alone returns it, since rounds have gone
// on without that worker.
var ErrWentBack = server.ErrWentBack

// ExitWentBack is the exit status of a program that ends with ErrWentBack (EX_TEMPFAIL of sysexits.h). It asks the
// launcher to start the role again. In programs of fleet/train, FLEET_EXIT_RESTART changes the status.
const ExitWentBack = observe.WentBack

// ErrUnsaved reports that a role was asked to end while its training was in no checkpoint and no journal, and is lost.
var ErrUnsaved = server.ErrUnsaved

// Unsaved returns an error that wraps ErrUnsaved if this role was asked to end, by the context of InitWorker or
// RunServer, and its training is lost; nil if nothing is lost. It is known once RunServer or Close has returned. A
// program that ends by a signal can report it by its exit status: after SIGTERM 143 if nothing is lost, else 1. In a
// collective job with a strategy.Recovery only worker 0 reports a loss; other workers return nil.
func (f *Fleet) Unsaved() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.job == nil {
		return nil
	}
	return f.job.Lost()
}

func (f *Fleet) serverCall(call string) (*job.Job, error) {
	if !f.IsServer() {
		return nil, fmt.Errorf("fleet: %s: this is %v, in a job of %d servers; its calls are InitWorker and "+
			"StopWorker: %w", call, f, f.ServerNum(), ErrRole)
	}
	return f.minimized(call)
}
