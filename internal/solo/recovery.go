package solo

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/progress"
)

// saved is the content of a checkpoint.
type saved struct {
	changes  int64 // of the weights
	periods  int   // that were ended, with rows dropped
	rate     float64
	progress checkpoint.Progress
	epochs   string // their moment
}

// is reports whether another checkpoint has the same content. o may be nil, for no content.
func (s *saved) is(o *saved) bool {
	return o != nil && s.changes == o.changes && s.periods == o.periods && s.rate == o.rate &&
		s.progress.Epoch == o.progress.Epoch && bytes.Equal(s.progress.User, o.progress.User) && s.epochs == o.epochs
}

// GoOn makes this worker, one of workers, continue where the loaded checkpoint ended. With another number of workers
// the shares of the data differ. It is called once, before the first step.
func (t *Trainer) GoOn(worker, workers int) {
	t.epochs.Begin(workers, t.from.Led)
	saved := len(t.positions)
	t.progress.Epoch = t.from.First(worker, workers, true)
	if saved == workers {
		t.Steps.reading.Resume(t.positions[worker], t.progress.Epoch)
		return
	} else if saved > 0 && worker == 0 && t.from.Progress != nil {
		t.series.Log.Warn("the current epoch begins anew: the checkpoint is of another number of workers",
			"workers then", saved, "workers now", workers, "epoch", t.progress.Epoch+1)
	}
	t.Steps.reading.Resume(nil, t.progress.Epoch)
	t.Steps.reading.After(progress.MostSteps(t.positions))
}

// Positions returns the positions from which the job continues, by worker.
func (t *Trainer) Positions() [][]progress.Position { return t.positions }

// Resume loads the newest whole checkpoint of the series, and returns a description of it; "" if there is none. Files
// are checked before a weight is changed: if all checkpoints are damaged, training begins with the present weights.
func (t *Trainer) Resume(ctx context.Context) (origin string, err error) {
	_, err = t.series.Resume(ctx, func(dir string) error {
		m, err := checkpoint.Verify(ctx, dir)
		if err != nil {
			return err
		}
		if origin, err = t.Fill(ctx, dir, checkpoint.Selection{}); err == nil && m.Progress != nil {
			t.progress, t.positions, t.from, t.deeds = *m.Progress, m.Positions, m, m.Deeds
		}
		return err
	})
	return origin, err
}

// Claim reserves the directory of Strategy.Recovery for this job.
func (t *Trainer) Claim(ctx context.Context) error { return t.series.Claim(ctx) }

// Release frees the directories into which this job saves, for other jobs.
func (t *Trainer) Release() {
	t.series.Release()
	t.places.Release()
}

// Progress implements [backend.Trainer].
func (t *Trainer) Progress() checkpoint.Progress { return t.progress }

// Begin implements [backend.Trainer]. The next checkpoint has it.
func (t *Trainer) Begin(p checkpoint.Progress) error {
	t.mu.Lock()
	loaded := t.loaded
	t.loaded = false
	t.mu.Unlock()
	if epoch := t.Steps.reading.Epoch(); p.Epoch < epoch && !loaded {
		return fmt.Errorf("this worker is in epoch %d and reports epoch %d: begin at the epoch that Fleet.FirstEpoch "+
			"returns; only after LoadModel may a worker begin an earlier epoch", epoch, p.Epoch)
	}
	t.Steps.reading.Begin(p.Epoch)
	return nil
}

// Reading implements [backend.Trainer].
func (t *Trainer) Reading() *progress.Tracker { return &t.Steps.reading }

// Saves implements [backend.Trainer].
func (t *Trainer) Saves(context.Context, bool) (bool, error) { return true, nil }

// Asked implements [backend.Trainer]: there is no server that asks.
func (t *Trainer) Asked() <-chan struct{} { return nil }

// Checkpoint implements [backend.Trainer]. It writes nothing if the last checkpoint has the same content. Steps wait
// only while the weights are set aside.
func (t *Trainer) Checkpoint(ctx context.Context, progressed func() checkpoint.Progress,
	frozen func() map[string][]float32) error {
	return t.WriteNext(ctx, progressed, frozen, t.local.RateFactor())
}

// WriteNext is Checkpoint with the factor on learning rates with which a job continues. One checkpoint is written at a
// time: a second call waits for the first. Files of a failed attempt are removed when the next directory is made, and
// old checkpoints when the new one is complete.
func (t *Trainer) WriteNext(ctx context.Context, progressed func() checkpoint.Progress,
	frozen func() map[string][]float32, rate float64) error {
	if err := t.Whole(); err != nil {
		return err
	}
	t.writing.Lock()
	defer t.writing.Unlock()
	began := time.Now()
	c, now, err := t.takeNext(ctx, progressed, frozen, rate)
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

// exchange sets frozen dense params to these values and returns those that they had. It is called while no step is
// made.
func (t *Trainer) exchange(all map[string][]float32) map[string][]float32 {
	had := map[string][]float32{}
	for name, w := range all {
		if b, ok := t.Store().Block(name); ok && b.Values.Len() == len(w) {
			had[name] = make([]float32, len(w))
			_, _ = b.Values.Pull(had[name]), b.Values.Set(w)
		}
	}
	return had
}

// takeNext sets the next checkpoint aside, and returns its content; nil if the last one has the same content.
func (t *Trainer) takeNext(ctx context.Context, progressed func() checkpoint.Progress,
	frozen func() map[string][]float32, rate float64) (c taken, now *saved, err error) {
	t.series.Look(ctx) // no step waits for a slow disk
	err = t.Steps.still(func() (err error) {
		p := progressed()
		if now = (&saved{t.local.Changes(), t.periods, rate, p, t.epochs.Moment()}); !now.is(t.saved) {
			own := t.exchange(frozen())
			defer func() { t.exchange(own) }()
			if c, err = t.takeOwn(rate); err != nil {
				return err
			}
			c.manifest.Progress, c.manifest.Led = &p, t.epochs.Facts()
		}
		return nil
	})
	return c, now, err
}
