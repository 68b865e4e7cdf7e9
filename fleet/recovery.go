package fleet

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/gofleet/gofleet/internal/awake"
	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/job"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/strategy"
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
	f.saving.say(p)
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
	p := f.saving.progress(j)
	return Progress{Epoch: p.Epoch, User: p.User}
}

// FirstEpoch returns the epoch at which this worker's loop begins, after InitWorker: 0 in a new job, else the epoch
// in which this worker has samples left, or after which its program has not reported the next. After the worker was
// lost and the others went on, that is an earlier epoch than theirs. A job that goes on from a checkpoint, or whose
// servers come back when no worker is left in it, and any in modes sync and ssp or without servers, begins the same
// epoch on all workers, the earliest of these, and a worker passes over what it has trained; with another number of
// workers it trains all of that epoch again. A worker that was started again alone joins the collectives of the
// others where they are: it skips those that its earlier lives made, or the others without it.
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
	if err = f.saving.joined(j); err == nil {
		err = j.Backend.Checkpoint(ctx, func() checkpoint.Progress { return f.saving.progress(j) }, j.Frozen)
	}
	return f.saved("Checkpoint", err)
}

// ErrTaken reports that another running job saves into the same directory. Two such jobs would replace each other's
// checkpoints, and each would resume from the other's. The error that wraps it names the other job's process, host and
// time.
var ErrTaken = checkpoint.ErrTaken

// saving is a role's progress, with the outcome of its last save.
type saving struct {
	mu      sync.Mutex
	said    *Progress // the argument of SetProgress
	saver   *saver    // saves checkpoints automatically, between InitWorker and StopWorker
	ended   bool      // it has saved its last checkpoint
	trained bool      // a training step has begun
	unsaved error     // why the training of a role that was asked to end is lost
}

// say stores the argument of SetProgress.
func (s *saving) say(p Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = &p
}

// progress is the progress for a checkpoint; before Minimize there is none.
func (s *saving) progress(j *job.Job) (p checkpoint.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.said != nil:
		p = j.Told(s.said.Epoch, s.said.User)
	case j != nil && j.Backend != nil:
		p = j.Backend.Progress()
		p = j.Told(p.Epoch, p.User)
	}
	return p
}

// start starts a saver in a job with a Recovery; without one it notes that nothing is saved.
func (s *saving) start(told context.Context, j *job.Job) {
	ctx, stop := context.WithCancel(context.Background())
	n := &saver{of: s, j: j, every: j.Strategy.Recovery.Every.Std(), told: told}
	deaf := context.AfterFunc(told, func() { n.hurry(true) })
	n.stop = func() { deaf(); stop() }
	if n.saves() {
		n.ended.Go(func() { n.run(ctx) })
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saver = n
}

// end ends what start began, and returns the saver; nil if there is none.
func (s *saving) end() *saver {
	s.mu.Lock()
	n := s.saver
	s.saver, s.ended = nil, s.ended || n != nil
	s.mu.Unlock()
	if n != nil {
		n.stop()
		n.ended.Wait()
	}
	return n
}

// joined refuses a process alone with a directory for checkpoints that has not called InitWorker, which resumes from
// them: it would begin anew, and replace them. In other jobs servers, or the other workers, refuse such a process.
func (s *saving) joined(j *job.Job) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.saver == nil && !s.ended && j.ID.Local() && j.Strategy.Recovery.Dir != "" {
		return backend.ErrNotJoined
	}
	return nil
}

// trains notes a training step. It refuses one of such a process after its last checkpoint: no checkpoint would contain
// the step.
func (s *saving) trains(j *job.Job) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.saver == nil && s.ended && j.ID.Local() && j.Strategy.Recovery.Dir != "" {
		return errLeft
	}
	s.trained = true
	return nil
}

var errLeft = fmt.Errorf("StopWorker, or Close, was called, which saved the last checkpoint: train before it: %w",
	ErrOrder)

// goesOn calls the saver's goesOn, if there is one.
func (s *saving) goesOn() {
	s.mu.Lock()
	n := s.saver
	s.mu.Unlock()
	if n != nil {
		n.goesOn()
	}
}

// presence is the state of a worker for probes: whether it has joined, and what it waits for.
func (s *saving) presence() (began bool, waits string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.saver != nil && !s.saver.leaves():
		return true, ""
	case s.saver != nil || s.ended:
		return true, "the worker is about to end"
	}
	return false, "the worker has not joined"
}

// lose notes why the training is not saved.
func (s *saving) lose(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unsaved = why; !errors.Is(why, ErrUnsaved) {
		s.unsaved = fmt.Errorf("%w: %w", ErrUnsaved, why)
	}
}

// lost is why the training is not saved; nil if nothing is lost.
func (s *saving) lost() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unsaved
}

// saver saves checkpoints while a worker trains, whenever it is this worker's turn.
type saver struct {
	of    *saving
	j     *job.Job
	every time.Duration
	told  context.Context // InitWorker's context, whose end is the program's
	stop  func()
	ended sync.WaitGroup

	mu       sync.Mutex
	outlives bool // the program goes on although told has ended
}

// retryAfter is the time until a failed checkpoint is tried again, unless the next is due earlier.
const retryAfter = 10 * time.Second

// saves reports whether the job has a directory for checkpoints.
func (s *saver) saves() bool { return s.j.Strategy.Recovery.Dir != "" }

// run saves periodically until ctx ends, and at once when a server asks.
func (s *saver) run(ctx context.Context) {
	wait := s.every
	for {
		mine, err := s.next(ctx, wait)
		if err != nil {
			return
		}
		if wait = s.every; !mine {
			mine, err = s.j.Backend.Saves(ctx, false)
		}
		if mine && err == nil {
			err = s.save(ctx)
		}
		if err != nil && ctx.Err() == nil {
			wait = min(retryAfter, s.every)
			s.retry(wait, "saving a checkpoint failed, it is tried again", err)
		}
	}
}

// next waits until it is time to save, or a server asks.
func (s *saver) next(ctx context.Context, d time.Duration) (asked bool, err error) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return false, nil
	case <-s.j.Backend.Asked():
		return true, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// rescueTime is the time limit of the last checkpoint of a worker that is asked to end.
const rescueTime = time.Minute

// rescue saves the training when the program was asked to end in the middle of it, so that the next start goes on from
// there.
func (s *saver) rescue() {
	journalled := s.j.Strategy.Recovery.Journal != "" && !mode.Of(s.j.Strategy.Mode).Lockstep
	if s.told.Err() == nil {
		return
	}
	s.hurry(true)
	s.of.mu.Lock()
	trained := s.of.trained
	s.of.mu.Unlock()
	if !s.saves() {
		if !journalled && trained {
			s.of.lose(errors.New("the job has no directory for checkpoints"))
		}
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.told), rescueTime)
	defer cancel()
	mine, err := s.j.Backend.Saves(ctx, false)
	asks, is := s.j.Backend.(backend.Hurried)
	late := err == nil && is && asks.Late()
	if err == nil && !late {
		err = s.save(ctx)
	}
	switch {
	case late:
		s.j.Log.Info("this worker ends without a checkpoint: it was started again alone, and others, which know more "+
			"of the job, save", "worker", s.j.ID.Index)
	case err != nil && journalled:
		s.j.Log.Info("this worker ends without a checkpoint: servers' journals have what they had answered, and a "+
			"server that is away is expected back", "worker", s.j.ID.Index, "error", err)
	case err != nil:
		s.j.Log.Warn("no checkpoint was saved before this worker ends", "worker", s.j.ID.Index, "error", err)
		if trained {
			s.of.lose(err)
		}
	case mine:
		s.j.Log.Info("a checkpoint was saved; the same command goes on from it", "dir", s.j.Strategy.Recovery.Dir,
			"worker", s.j.ID.Index)
	}
}

// hurry notes whether this process is about to end: servers may have been asked to end too, and are then not started
// again.
func (s *saver) hurry(ends bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if waits, is := s.j.Backend.(backend.Hurried); is {
		waits.Hurry(ends && !s.outlives)
	}
}

// goesOn withdraws that this process is about to end, after a step whose context lives.
func (s *saver) goesOn() {
	if s.told.Err() == nil {
		return
	}
	s.mu.Lock()
	before := s.outlives
	s.outlives = true
	s.mu.Unlock()
	if s.hurry(false); !before {
		s.j.Log.Warn("the context of InitWorker has ended and this worker trains on: give InitWorker the program's "+
			"own, which ends when the program is asked to end", "worker", s.j.ID.Index)
	}
}

// leaves reports whether this process is about to end, as far as it knows.
func (s *saver) leaves() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.told.Err() != nil && !s.outlives
}

// last saves this worker's last checkpoint, if it is the one to do so. It retries until ctx, the job or the strategy's
// WaitTimeout ends.
func (s *saver) last(ctx context.Context) error {
	if !s.saves() {
		return nil
	}
	begin, limit, wait := time.Now(), s.j.Strategy.WaitTimeout.Std(), min(retryAfter, s.every)
	mine, err := s.j.Backend.Saves(ctx, true)
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
		} else if _, err = s.j.Backend.Saves(ctx, false); err == nil { // other workers save
			s.retry(wait, "saving the last checkpoint failed, it is tried again before this worker ends", failed,
				"gives up in", strategy.Duration((limit - waited).Round(time.Second)))
			err, wait = awake.Rest(ctx, wait), min(2*wait, time.Minute)
		}
		if err != nil {
			err = errors.Join(failed, err)
		}
	}
	return fmt.Errorf("the last checkpoint was not saved: %w", err)
}

// save saves a checkpoint with the program's progress.
func (s *saver) save(ctx context.Context) error {
	return s.j.Backend.Checkpoint(ctx, func() checkpoint.Progress { return s.of.progress(s.j) }, s.j.Frozen)
}

// retry logs a failure with its details, and the pause until the next attempt.
func (s *saver) retry(wait time.Duration, what string, err error, more ...any) {
	s.j.Log.Warn(what, append([]any{"worker", s.j.ID.Index, "in", strategy.Duration(wait), "error", err}, more...)...)
}
