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

// The epochs of a worker that has ended are trained by its next life. If none has come when the others have trained
// their last, and the workers are not in lockstep, the leading worker waits for it: for a worker timeout or, in a job
// that expects workers back, as long as servers wait for theirs. All meet every worker timeout meanwhile, so that a
// worker that comes back ends the wait. After that the leading worker's process becomes that life too: it joins in the
// place of the missing worker and goes on at its position, and the others wait as for any worker that lacks epochs.

// ErrShort reports that a job finished, but some samples of a worker that died were not trained on. The error that
// wraps it says how many.
var ErrShort = errors.New("samples were not trained")

// stands reports whether the epochs of missing workers are trained before the last one ends. It is the same on all
// workers.
func (r *Run) stands() bool {
	may := r.Fleet.ServerNum() > 0 && !r.inStep && !r.Job.Sharded && r.Job.standIns.anew != nil
	return may && len(r.others.gone) > 0 && r.Epoch == r.Job.Epochs-1 && !r.ends.over
}

// replace begins the next life of missing workers, if they don't come by themselves.
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

// play begins the next life of a worker in this process, and returns when it has joined.
func (s *standIns) play(ctx context.Context, worker int) error {
	select {
	case err := <-s.ended: // an earlier life: if it has failed the next fails too
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
	slog.Warn("train: this process could not stand in for a worker, which may have restarted", "worker", worker,
		"error", err)
	return nil
}

// wait returns when all lives in this process have ended.
func (s *standIns) wait() (err error) {
	for ; s.running > 0; s.running-- {
		err = errors.Join(err, <-s.ended)
	}
	return err
}

// short returns an error, on the leading worker, with the number of samples of missing workers that were not trained,
// if the job has ended without them.
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

// remains is the number of samples of a worker's shares after its position in the last checkpoint. Without a checkpoint
// the position is unknown: then it is the samples of the epochs that have ended without the worker, some of which it
// may have trained.
func (r *Run) remains(worker int) (samples int, exact bool) {
	at := fleet.Position{Epoch: r.Epoch}
	if e, known := r.others.lost[worker]; known {
		at.Epoch = e
	}
	if c, err := checkpoints.Latest(r.dir); r.recovers && err == nil && worker < len(c.Positions) {
		at, exact = c.Positions[worker], true
	}
	if r.Job.Sharded { // only the worker had the number of its rows
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
