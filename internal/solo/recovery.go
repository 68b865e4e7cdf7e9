package solo

import (
	"bytes"
	"context"
	"time"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/progress"
)

// saved is what a checkpoint holds.
type saved struct {
	changes  int64 // of the weights
	periods  int   // that were ended, whose rows were dropped
	rate     float64
	progress checkpoint.Progress
}

// is says whether another checkpoint would hold the same. o may be nil, which holds nothing.
func (s *saved) is(o *saved) bool {
	return o != nil && s.changes == o.changes && s.periods == o.periods && s.rate == o.rate &&
		s.progress.Epoch == o.progress.Epoch && bytes.Equal(s.progress.User, o.progress.User)
}

// GoOn makes this worker, one of so many, go on from where the checkpoint that was loaded says. Another number of
// workers has other shares of the data. It is called once, before the first step.
func (t *Trainer) GoOn(worker, workers int) {
	if saved := len(t.positions); saved == workers {
		t.Steps.reading.Resume(t.positions[worker], t.progress.Epoch)
		return
	} else if saved > 0 && worker == 0 && t.resumed {
		t.series.Log.Warn("the current epoch begins anew: the checkpoint is of another number of workers",
			"workers then", saved, "workers now", workers, "epoch", t.progress.Epoch+1)
	}
	t.Steps.reading.Resume(nil, t.progress.Epoch)
	t.Steps.reading.After(progress.MostSteps(t.positions))
}

// Positions are where the job goes on from, by worker.
func (t *Trainer) Positions() [][]progress.Position { return t.positions }

// Resume loads the newest whole checkpoint of the series, and says in words what was loaded; "" if there is none. Files
// are looked at before a weight is changed: where all checkpoints are damaged, training begins with the weights that
// there are.
func (t *Trainer) Resume(ctx context.Context) (origin string, err error) {
	_, err = t.series.Resume(ctx, func(dir string) error {
		m, err := checkpoint.Verify(ctx, dir)
		if err != nil {
			return err
		}
		if origin, err = t.Fill(ctx, dir, checkpoint.Selection{}); err == nil && m.Progress != nil {
			t.progress, t.positions, t.resumed = *m.Progress, m.Positions, true
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

// Reading implements [backend.Trainer].
func (t *Trainer) Reading() *progress.Tracker { return &t.Steps.reading }

// Saves implements [backend.Trainer].
func (t *Trainer) Saves(context.Context, bool) (bool, error) { return true, nil }

// Asked implements [backend.Trainer]: no server asks.
func (t *Trainer) Asked() <-chan struct{} { return nil }

// Checkpoint implements [backend.Trainer]. It writes nothing where the last one holds the same. Steps wait only while
// the weights are set aside.
func (t *Trainer) Checkpoint(ctx context.Context, progressed func() checkpoint.Progress) error {
	return t.WriteNext(ctx, progressed, t.local.RateFactor())
}

// WriteNext is Checkpoint with the factor on learning rates that a job goes on with. One checkpoint is written at a
// time: a second call waits for the first. What an attempt that failed has left is removed when the next directory is
// made, and old checkpoints when the new one is complete.
func (t *Trainer) WriteNext(ctx context.Context, progressed func() checkpoint.Progress, rate float64) error {
	if err := t.Whole(); err != nil {
		return err
	}
	t.writing.Lock()
	defer t.writing.Unlock()
	began := time.Now()
	c, now, err := t.takeNext(ctx, progressed, rate)
	if err != nil || now.is(t.saved) {
		return err
	}
	dir, err := t.series.Make(ctx)
	if err != nil {
		c.image.Close()
		return err
	}
	if err := c.write(ctx, dir, t.series.Commit); err != nil {
		return err
	}
	t.saved = now
	kept := backend.Kept{Checkpoints: t.Kept().Checkpoints + 1, At: time.Now(), Took: time.Since(began)}
	t.kept.Store(&kept)
	t.series.Committed(dir)
	t.series.Prune()
	return nil
}

// Kept implements [backend.Keeper].
func (t *Trainer) Kept() backend.Kept {
	if is := t.kept.Load(); is != nil {
		return *is
	}
	return backend.Kept{}
}

// takeNext takes the next checkpoint aside, and says what it holds; there is none if the last one holds the same.
func (t *Trainer) takeNext(ctx context.Context, progressed func() checkpoint.Progress, rate float64) (c taken,
	now *saved, err error) {
	t.series.Look(ctx) // a disk may be slow: no step waits for it
	err = t.Steps.still(func() (err error) {
		p := progressed()
		if now = (&saved{t.local.Changes(), t.periods, rate, p}); !now.is(t.saved) {
			if c, err = t.takeOwn(rate); err != nil {
				return err
			}
			c.manifest.Progress = &p
		}
		return nil
	})
	return c, now, err
}
