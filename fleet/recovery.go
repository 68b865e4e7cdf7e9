package fleet

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/strategy"
)

// Progress is how far a job is, as its program says: what a job that is started again wants to know.
type Progress struct {
	// Epoch is the one that is under way, from 0. How far each worker is in it is its Position.
	Epoch int
	// User is the program's own, at most 64 KiB. It is not copied.
	User []byte
}

// maxUser bounds Progress.User: it is in the manifest, and in the answer to each worker that joins.
const maxUser = 64 << 10

// maxEpoch is the last that a push can name.
const maxEpoch = math.MaxInt32

// SetProgress says how far this job is, for the checkpoints that [strategy.Recovery] has saved from now on: each has
// what the worker that saves it has said last. Say that an epoch begins behind a barrier, so that no worker is still in
// the one before:
//
//	for epoch := f.Progress().Epoch; epoch < epochs; epoch++ {
//		…                                   // train on the rows of the epoch
//		err = f.BarrierWorker(ctx)
//		err = f.SetProgress(fleet.Progress{Epoch: epoch + 1})
//	}
//
// Positions count from there: what is pushed from now on is of that epoch. Any goroutine may call it. A worker that
// says nothing goes on with what the job has begun from.
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
	j.backend.Reading().Begin(p.Epoch)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.progress = &p
	return nil
}

// Progress is what this process has given SetProgress last; before that, since InitWorker, what was said in the
// checkpoint that the job goes on from, and zero in a job that begins anew.
func (f *Fleet) Progress() Progress {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.progress != nil:
		return *f.progress
	case f.job != nil && f.job.backend != nil:
		return Progress(f.job.backend.Progress())
	}
	return Progress{}
}

// progressed is Progress as checkpoints have it.
func (f *Fleet) progressed() checkpoint.Progress { return checkpoint.Progress(f.Progress()) }

// goOn begins where the job goes on from, in the epoch that the program begins with.
func (f *Fleet) goOn(j *job) {
	reading := j.backend.Reading()
	reading.Begin(f.Progress().Epoch)
	reading.Unlike(func(saved, now int) {
		f.log.Warn("the epoch that was under way begins anew: the checkpoint is of another number of training threads",
			"worker", f.id.Index, "threads then", saved, "threads now", now)
	})
}

// Checkpoint saves one of the checkpoints of [strategy.Recovery] at once, beside the ones that are saved by themselves,
// and returns when it is whole. It holds what SavePersistables does, this worker's Progress, and the Position of each
// worker. Any worker may call it; when several do for the same step with the same progress, one acts. In a collective
// job worker 0 writes when it calls, and calls of others do nothing.
func (f *Fleet) Checkpoint(ctx context.Context) error {
	j, err := f.worker(ctx, "Checkpoint")
	if err != nil {
		return err
	}
	if j.strategy.Recovery.Dir == "" {
		return fmt.Errorf("fleet: Checkpoint: no directory for it: set Strategy.Recovery.Dir: %w", ErrOrder)
	}
	return named("Checkpoint", j.backend.Checkpoint(ctx, f.progressed))
}

// ErrTaken says that another job, which lives, saves into a directory: two that did would replace each other's
// checkpoints, and either, started again, would go on from the other's. The error that wraps it names the other by
// process, host and time.
var ErrTaken = checkpoint.ErrTaken

// saver saves checkpoints while a worker trains, when it is for this worker to do.
type saver struct {
	f     *Fleet
	j     *job
	every time.Duration
	told  context.Context // InitWorker's: what ends it ends the program
	stop  func()
	ended sync.WaitGroup

	mu       sync.Mutex
	outlives bool // the program goes on though told has ended
}

// retryAfter is when a checkpoint that failed is tried again, unless the next is due earlier.
const retryAfter = 10 * time.Second

// saves says whether the job has a place for checkpoints.
func (s *saver) saves() bool { return s.j.strategy.Recovery.Dir != "" }

// beginSaving begins, in a job with a Recovery; in another it is known then that nothing is saved.
func (f *Fleet) beginSaving(told context.Context, j *job) {
	ctx, stop := context.WithCancel(context.Background())
	s := &saver{f: f, j: j, every: j.strategy.Recovery.Every.Std(), told: told}
	deaf := context.AfterFunc(told, func() { s.hurry(true) })
	s.stop = func() { deaf(); stop() }
	if s.saves() {
		s.ended.Go(func() { s.run(ctx) })
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.saver = s
}

// endSaving ends what beginSaving began, and returns it; nil if there is nothing to end.
func (f *Fleet) endSaving() *saver {
	f.mu.Lock()
	s := f.saver
	f.saver, f.leaves = nil, f.leaves || s != nil
	f.mu.Unlock()
	if s != nil {
		s.stop()
		s.ended.Wait()
	}
	return s
}

// run saves again and again until ctx ends, and at once when a server asks.
func (s *saver) run(ctx context.Context) {
	wait := s.every
	for {
		mine, err := s.next(ctx, wait)
		if err != nil {
			return
		}
		if wait = s.every; !mine {
			mine, err = s.j.backend.Saves(ctx, false)
		}
		if mine && err == nil {
			err = s.save(ctx)
		}
		if err != nil && ctx.Err() == nil {
			wait = s.retry(err)
		}
	}
}

// next waits until it is time to save, or somebody asks.
func (s *saver) next(ctx context.Context, d time.Duration) (asked bool, err error) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return false, nil
	case <-s.j.backend.Asked():
		return true, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// rescueTime is how long a worker that is asked to end tries to save a checkpoint before.
const rescueTime = time.Minute

// rescue saves what is trained when the program was asked to end in the middle of it: its next start goes on from that.
func (s *saver) rescue() {
	journalled := s.j.strategy.Recovery.Journal != "" && !mode.Of(s.j.strategy.Mode).Lockstep
	if s.told.Err() == nil {
		return
	}
	s.hurry(true)
	if !s.saves() {
		if !journalled {
			s.f.lost(errors.New("the job has no directory for checkpoints"))
		}
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.told), rescueTime)
	defer cancel()
	mine, err := s.j.backend.Saves(ctx, false)
	asks, is := s.j.backend.(backend.Hurried)
	late := err == nil && is && asks.Late()
	if err == nil && !late {
		err = s.save(ctx)
	}
	switch {
	case late:
		s.f.log.Info("this worker ends without a checkpoint: it was started again alone, and others, which know more "+
			"of the job, save", "worker", s.f.id.Index)
	case err != nil && journalled:
		s.f.log.Info("this worker ends without a checkpoint: servers' journals have what they had answered, and a "+
			"server that is away is expected back", "worker", s.f.id.Index, "error", err)
	case err != nil:
		s.f.log.Warn("no checkpoint was saved before this worker ends", "worker", s.f.id.Index, "error", err)
		s.f.lost(err)
	case mine:
		s.f.log.Info("a checkpoint is saved, and the same command goes on from it", "dir", s.j.strategy.Recovery.Dir,
			"worker", s.f.id.Index)
	}
}

// hurry says whether this process is about to end: servers may have been asked to end too, and then they are not
// started again.
func (s *saver) hurry(ends bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if waits, is := s.j.backend.(backend.Hurried); is {
		waits.Hurry(ends && !s.outlives)
	}
}

// goesOn takes back that this process is about to end, where a step is made with a context that lives.
func (s *saver) goesOn() {
	if s.told.Err() == nil {
		return
	}
	s.mu.Lock()
	before := s.outlives
	s.outlives = true
	s.mu.Unlock()
	if s.hurry(false); !before {
		s.f.log.Warn("the context of InitWorker has ended and this worker trains on: give InitWorker the program's "+
			"own, which ends when the program is asked to end", "worker", s.f.id.Index)
	}
}

// goesOn is the saver's, if there is one.
func (f *Fleet) goesOn() {
	f.mu.Lock()
	s := f.saver
	f.mu.Unlock()
	if s != nil {
		s.goesOn()
	}
}

// leaves says whether this process is about to end, as far as is known.
func (s *saver) leaves() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.told.Err() != nil && !s.outlives
}

// last saves what this worker leaves behind, if that is for it to do: as often as it takes, until ctx, the job or the
// strategy's WaitTimeout ends.
func (s *saver) last(ctx context.Context) error {
	if !s.saves() {
		return nil
	}
	begin, limit := time.Now(), s.j.strategy.WaitTimeout.Std()
	mine, err := s.j.backend.Saves(ctx, true)
	if err == nil && !mine {
		return nil
	}
	for err == nil {
		failed := s.save(ctx)
		if failed == nil {
			return nil
		}
		if waited := time.Since(begin); waited >= limit {
			err = fmt.Errorf("every attempt has failed for %v (WaitTimeout is %v)", strategy.Duration(waited),
				strategy.Duration(limit))
		} else if _, err = s.j.backend.Saves(ctx, false); err == nil { // there are others to save for
			err = s.wait(ctx, s.retry(failed))
		}
		if err != nil {
			err = errors.Join(failed, err)
		}
	}
	return fmt.Errorf("the last checkpoint was not saved: %w", err)
}

// save saves one with what the program has said so far.
func (s *saver) save(ctx context.Context) error {
	return s.j.backend.Checkpoint(ctx, s.f.progressed)
}

// retry logs a failure, and is how long to wait before the next attempt.
func (s *saver) retry(err error) time.Duration {
	wait := min(retryAfter, s.every)
	s.f.log.Warn("a checkpoint failed, it is tried again", "worker", s.f.id.Index, "in", strategy.Duration(wait),
		"error", err)
	return wait
}

// wait fails when ctx ends before the time is over.
func (s *saver) wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
