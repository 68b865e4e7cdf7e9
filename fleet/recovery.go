package fleet

import (
	"context"
	"fmt"
	"math"

	"github.com/gofleet/gofleet/internal/checkpoint"
)

// Progress is how far a job is according to its program, for a job that resumes.
type Progress struct {
	// Epoch is the current epoch, from 0. Each worker's Position says how far it is in the epoch.
	Epoch int
	// User is the program's own data, at most 64 KiB. It is not copied.
	User []byte
}

// maxUser bounds Progress.User: it is in the manifest, and in the answer to each worker that joins.
const maxUser = 64 << 10

// maxEpoch is the largest epoch that a push can have.
const maxEpoch = math.MaxInt32

// SetProgress records how far this worker is, and what the program knows of the job. Servers keep it, with the weights:
// in their journals, in the checkpoints that [strategy.Recovery] saves from now on, and for a worker that is started
// again alone. Every worker calls it; announce a new epoch after a barrier, so that no worker is still in the previous
// one:
//
//	for epoch := f.FirstEpoch(); epoch < epochs; epoch++ {
//		…                                   // train on the rows of the epoch
//		err = f.BarrierWorker(ctx)
//		err = f.SetProgress(fleet.Progress{Epoch: epoch + 1})
//	}
//
// Positions count from that call: gradients pushed from then on belong to that epoch. An epoch before the worker's own
// is refused, unless LoadModel has replaced the weights since. Any goroutine may call it.
func (f *Fleet) SetProgress(p Progress) error {
	j, err := f.workerCall("SetProgress")
	switch {
	case err != nil:
		return err
	case len(p.User) > maxUser:
		return fmt.Errorf("fleet: SetProgress: User has %d bytes, it can have %d: save what is larger in a file of "+
			"your own, and put its name there", len(p.User), maxUser)
	case p.Epoch < 0 || p.Epoch > maxEpoch:
		return fmt.Errorf("fleet: SetProgress: Epoch is %d; epochs count from 0 to %d", p.Epoch, maxEpoch)
	}
	if err := j.Begin(p.Epoch, p.User); err != nil {
		return named("SetProgress", err)
	}
	return nil
}

// Progress returns what this process last passed to SetProgress. Before the first call it is, after InitWorker, the
// epoch in which this worker goes on, with what the program of the furthest worker knew of the job when this worker
// joined: as last passed to SetProgress in this run of the job, or before the checkpoint from which it resumed. It is
// zero in a new job.
func (f *Fleet) Progress() Progress {
	f.mu.Lock()
	j := f.job
	f.mu.Unlock()
	if j == nil {
		return Progress{}
	}
	p := j.Progress()
	return Progress{Epoch: p.Epoch, User: p.User}
}

// FirstEpoch returns the epoch at which this worker's loop begins, after InitWorker: 0 in a new job, else the epoch
// in which this worker has samples left, or after which its program has not reported the next. After the worker was
// lost and the others went on, that is an earlier epoch than theirs. A job that goes on from a checkpoint, or whose
// servers come back when no worker is left in it, and any in modes sync and ssp or without servers, begins the same
// epoch on all workers, the earliest of these, and a worker passes over what it has trained; with another number of
// workers it trains all of that epoch again. A worker that was started again alone joins the collectives of the
// others where they are: it skips those that its earlier lives made, or the others without it.
//
// A loop that begins later, as at Position().Epoch, passes over what lies before it, without an error. The epoch is
// that of when this worker joined, whatever SetProgress says since.
func (f *Fleet) FirstEpoch() int {
	j, err := f.workerCall("FirstEpoch")
	if err != nil {
		return 0
	}
	if late, is := j.Backend.(interface{ CatchUp() int }); is {
		late.CatchUp()
	}
	return j.Backend.Progress().Epoch
}

// Checkpoint saves a checkpoint of [strategy.Recovery] immediately, in addition to the automatic ones, and returns when
// it is complete. It holds what SavePersistables saves, this worker's Progress, and the Position of each worker. Any
// worker may call it; when several do for the same step with the same progress, after all have passed it to
// SetProgress, one of them acts. In a collective job worker 0 writes, and calls of other workers do nothing.
func (f *Fleet) Checkpoint(ctx context.Context) error {
	j, err := f.worker(ctx, "Checkpoint")
	if err != nil {
		return err
	}
	if j.Strategy.Recovery.Dir == "" {
		return fmt.Errorf("fleet: Checkpoint: no directory for it: set Strategy.Recovery.Dir: %w", ErrOrder)
	}
	return f.saved("Checkpoint", j.Checkpoint(ctx))
}

// ErrTaken reports that another running job saves into the same directory. Two such jobs would replace each other's
// checkpoints, and each would resume from the other's. The error that wraps it names the other job's process, host and
// time.
var ErrTaken = checkpoint.ErrTaken
