package train

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/checkpoints"
)

// A worker that has ended has its epochs trained by its next life. Where none has come when the others have trained
// their last, and workers don't go in step, the worker that leads waits for it: for a worker timeout or, in a job that
// expects workers back, as long as servers wait for theirs. All meet every worker timeout meanwhile, so that one that
// has come back ends the wait. Then it is that life itself, beside its own: it joins as the worker that is gone and
// goes on at that one's position, and the others wait as for any worker that lacks epochs.

// ErrShort reports that a job finished, but some samples of a worker that died were not trained on. The error that
// wraps it says how many.
var ErrShort = errors.New("samples were not trained")

// stands says whether workers that are gone have their epochs trained before the last one ends. All workers answer
// alike.
func (r *Run) stands() bool {
	may := r.Fleet.ServerNum() > 0 && !r.inStep && !r.Job.Sharded && r.Job.standIns.anew != nil
	return may && len(r.others.gone) > 0 && r.Epoch == r.Job.Epochs-1 && !r.ends.over
}

// replace is the next life of workers that are gone, if they don't come by themselves.
func (s *standIns) replace(ctx context.Context, gone []int) error {
	if s.waited == 0 {
		slog.Warn("train: the job has come to its end without some workers, which may have samples left: it waits for "+
			"them, and then trains these in this process", "workers", gone, "waits", s.waits)
	}
	some := min(s.timeout, s.waits-s.waited)
	if err := pause(ctx, some); err != nil {
		return err
	}
	if s.waited += some; s.waited < s.waits {
		return nil
	}
	s.waited = 0
	for _, w := range gone {
		if err := s.play(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// play begins the next life of a worker, and returns when it has joined.
func (s *standIns) play(ctx context.Context, worker int) error {
	select {
	case err := <-s.ended: // a life that was played before: where it has failed the next does too
		if s.running--; err != nil {
			return fmt.Errorf("train: what worker %d has left could not be trained: %w", worker, err)
		}
	default:
	}
	j, err := s.anew()
	if err != nil {
		return err
	}
	f, err := s.fleet.InPlaceOf(worker)
	if err != nil {
		return err
	}
	joined, ended := make(chan struct{}), make(chan error, 1)
	j.standIns = &standIns{anew: s.anew}
	j.Data = func(context.Context) (_, _ *dataset.Dataset, err error) { return s.train, s.test, nil }
	j.Hooks = append([]Hooks{{Begin: func(context.Context, *Run) error { close(joined); return nil }}}, j.Hooks...)
	s.running++
	go func() {
		_, err := j.Run(ctx, f)
		ended <- err
		s.ended <- err
	}()
	select {
	case <-joined:
		return nil
	case err = <-ended:
	}
	s.running--
	<-s.ended
	if s.failed++; s.failed > 2 || err == nil {
		return fmt.Errorf("train: what worker %d has left could not be trained: %w", worker, err)
	}
	slog.Warn("train: this process can't be the next life of a worker, which may have come by itself", "worker", worker,
		"error", err)
	return nil
}

// wait returns when all lives that this process plays have ended.
func (s *standIns) wait() (err error) {
	for ; s.running > 0; s.running-- {
		err = errors.Join(err, <-s.ended)
	}
	return err
}

// short says on the worker that leads how many samples of workers that are gone were not trained, where the job has
// ended without them.
func (r *Run) short() error {
	if len(r.others.gone) == 0 || !r.others.leads || r.ends.over || r.Fleet.ServerNum() == 0 {
		return nil
	}
	samples, many := 0, "%d"
	for _, w := range r.others.gone {
		n, exact := r.remains(w)
		if samples += n; !exact {
			many = "about %d"
		}
	}
	switch {
	case samples == 0 && many == "%d":
		return nil
	case samples > 0:
		many = fmt.Sprintf(many, samples)
	default:
		many = "some"
	}
	return fmt.Errorf("train: the job has ended without workers %v, which were not replaced: %s %w; a job "+
		"with -checkpoint that is started again with all workers trains them", r.others.gone, many, ErrShort)
}

// remains is how many samples of a worker's shares are behind its position, as the last checkpoint has it. Without one
// it is unknown where it ended: then it is the samples of the epochs that have ended without it, of which it may have
// trained some.
func (r *Run) remains(worker int) (samples int, exact bool) {
	at := fleet.Position{Epoch: r.Epoch}
	if e, known := r.others.lost[worker]; known {
		at.Epoch = e
	}
	if c, err := checkpoints.Latest(r.dir); r.recovers && err == nil && worker < len(c.Positions) {
		at, exact = c.Positions[worker], true
	}
	if r.Job.Sharded { // only the worker knew how many rows it had
		return 0, false
	}
	samples, known := r.shares.behind(worker, at)
	return samples, exact && known
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
