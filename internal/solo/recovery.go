package solo

import (
	"bytes"
	"context"

	"github.com/gofleet/gofleet/internal/checkpoint"
)

// saved is what a checkpoint holds.
type saved struct {
	step     int64
	rate     float64
	progress checkpoint.Progress
}

// is says whether another checkpoint would hold the same.
func (s *saved) is(o *saved) bool {
	return s != nil && s.step == o.step && s.rate == o.rate &&
		s.progress.Epoch == o.progress.Epoch && bytes.Equal(s.progress.User, o.progress.User)
}

// Resume loads the newest whole checkpoint of the series, and says in words what was loaded; "" if there is none. Files are looked at
// before a weight is changed: where all checkpoints are damaged, training begins with the weights that there are.
func (t *Trainer) Resume(ctx context.Context) (origin string, err error) {
	_, err = t.series.Resume(ctx, func(dir string) error {
		m, err := checkpoint.Verify(ctx, dir)
		if err != nil {
			return err
		}
		if origin, err = t.Load(ctx, dir, checkpoint.Selection{}); err == nil && m.Progress != nil {
			t.progress = *m.Progress
		}
		return err
	})
	return origin, err
}

// Claim takes the directory of Strategy.Recovery for this job.
func (t *Trainer) Claim(ctx context.Context) error { return t.series.Claim(ctx) }

// Release lets other jobs have the directories that this one saves into.
func (t *Trainer) Release() {
	t.series.Release()
	t.places.Release()
}

// Progress implements [backend.Trainer].
func (t *Trainer) Progress() checkpoint.Progress { return t.progress }

// Saves implements [backend.Trainer].
func (t *Trainer) Saves(context.Context, bool) (bool, error) { return true, nil }

// Asked implements [backend.Trainer]: there is nobody who would.
func (t *Trainer) Asked() <-chan struct{} { return nil }

// Checkpoint implements [backend.Trainer].
func (t *Trainer) Checkpoint(ctx context.Context, p checkpoint.Progress) error {
	return t.WriteNext(ctx, p, t.local.RateFactor())
}

// WriteNext is Checkpoint with the factor on learning rates that a job goes on with.
func (t *Trainer) WriteNext(ctx context.Context, p checkpoint.Progress, rate float64) error {
	if err := t.Whole(); err != nil {
		return err
	}
	return t.local.Still(func() error {
		now := &saved{t.Store().Step(), rate, p}
		t.mu.Lock()
		before := t.saved
		t.mu.Unlock()
		if before.is(now) {
			return nil
		}
		dir, err := t.series.Make(ctx)
		if err != nil {
			return err
		}
		if err := t.write(ctx, dir, rate, &p); err != nil {
			return err
		}
		t.mu.Lock()
		t.saved = now
		t.mu.Unlock()
		t.series.Prune()
		return nil
	})
}
