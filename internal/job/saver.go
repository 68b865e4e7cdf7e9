package job

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gofleet/gofleet/internal/awake"
	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/server"
	"github.com/gofleet/gofleet/strategy"
)

// saving is a role's progress, with the outcome of its last save.
type saving struct {
	mu      sync.Mutex
	said    *checkpoint.Progress // what the program has said last
	saver   *saver               // saves checkpoints automatically, between InitWorker and StopWorker
	ended   bool                 // it has saved its last checkpoint
	trained bool                 // a training step has begun
	unsaved error                // why the training of a role that was asked to end is lost
}

// say stores what the program says of the job.
func (s *saving) say(epoch int, user []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = &checkpoint.Progress{Epoch: epoch, User: user}
}

// Progress is the job's progress for a checkpoint: as the program has said last, or else as the job goes on.
func (j *Job) Progress() (p checkpoint.Progress) {
	s := &j.saving
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.said != nil:
		p = *s.said
	case j.Backend != nil:
		p = j.Backend.Progress()
	default:
		return p
	}
	return j.told(p)
}

// start starts a saver in a job with a Recovery; without one it notes that nothing is saved.
func (s *saving) start(told context.Context, j *Job) {
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

// joined refuses a process alone with a directory for checkpoints that has not joined, which resumes from them: it
// would begin anew, and replace them. In other jobs servers, or the other workers, refuse such a process.
func (j *Job) joined() error {
	j.saving.mu.Lock()
	defer j.saving.mu.Unlock()
	if j.saving.saver == nil && !j.saving.ended && j.ID.Local() && j.Strategy.Recovery.Dir != "" {
		return backend.ErrNotJoined
	}
	return nil
}

// Trains notes a training step. It returns [ErrLeft] for one of such a process after its last checkpoint: no checkpoint
// would contain the step.
func (j *Job) Trains() error {
	j.saving.mu.Lock()
	defer j.saving.mu.Unlock()
	if j.saving.saver == nil && j.saving.ended && j.ID.Local() && j.Strategy.Recovery.Dir != "" {
		return ErrLeft
	}
	j.saving.trained = true
	return nil
}

// ErrLeft is the error of a step behind the last checkpoint.
var ErrLeft = errors.New("StopWorker, or Close, was called, which saved the last checkpoint: train before it")

// GoesOn notes a step whose context lives.
func (j *Job) GoesOn() {
	j.saving.mu.Lock()
	n := j.saving.saver
	j.saving.mu.Unlock()
	if n != nil {
		n.goesOn()
	}
}

// Presence is the state of a worker for probes: whether it has joined, and what it waits for.
func (j *Job) Presence() (began bool, waits string) {
	s := &j.saving
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

// Lose notes why the training of a role that was asked to end is lost: the error wraps [server.ErrUnsaved].
func (j *Job) Lose(why error) {
	j.saving.mu.Lock()
	defer j.saving.mu.Unlock()
	if j.saving.unsaved = why; !errors.Is(why, server.ErrUnsaved) {
		j.saving.unsaved = fmt.Errorf("%w: %w", server.ErrUnsaved, why)
	}
}

// Lost is why it is lost; nil if nothing is.
func (j *Job) Lost() error {
	j.saving.mu.Lock()
	defer j.saving.mu.Unlock()
	return j.saving.unsaved
}

// Checkpoint saves a checkpoint of the series at once.
func (j *Job) Checkpoint(ctx context.Context) error {
	if err := j.joined(); err != nil {
		return err
	}
	return j.Backend.Checkpoint(ctx, j.Progress, j.merged.frozen)
}

// Leave saves the last checkpoint, if it is this worker that does, and ends its part in the job.
func (j *Job) Leave(ctx context.Context) error {
	var unsaved error
	if s := j.saving.end(); s != nil {
		if unsaved = s.last(ctx); unsaved != nil {
			s.rescue()
		}
	}
	return errors.Join(unsaved, j.Backend.Leave(ctx))
}

// Close ends this worker's part at once. It first saves a checkpoint of a program that was asked to end.
func (j *Job) Close() {
	if s := j.saving.end(); s != nil {
		s.rescue()
	}
	if j.Backend != nil {
		j.Backend.Close()
	}
}

// saver saves checkpoints while a worker trains, whenever it is this worker's turn.
type saver struct {
	of    *saving
	j     *Job
	every time.Duration
	told  context.Context // Join's context, whose end is the program's
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
			s.j.Lose(errors.New("the job has no directory for checkpoints"))
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
			s.j.Lose(err)
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
	return s.j.Backend.Checkpoint(ctx, s.j.Progress, s.j.merged.frozen)
}

// retry logs a failure with its details, and the pause until the next attempt.
func (s *saver) retry(wait time.Duration, what string, err error, more ...any) {
	s.j.Log.Warn(what, append([]any{"worker", s.j.ID.Index, "in", strategy.Duration(wait), "error", err}, more...)...)
}
