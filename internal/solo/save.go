package solo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/files"
)

// Save implements [backend.Trainer]. A process that trains alone reserves the directory only while it writes.
func (t *Trainer) Save(ctx context.Context, dir string, params ...string) error {
	defer t.places.Release()
	return t.WriteCheckpoint(ctx, dir, t.local.RateFactor(), params...)
}

// WriteCheckpoint is Save with the factor on learning rates with which a job continues. The directory is this job's
// until Release. It returns when the checkpoint is whole. Steps wait only while the weights are set aside.
func (t *Trainer) WriteCheckpoint(ctx context.Context, dir string, rate float64, params ...string) error {
	if err := errors.Join(files.Ended(ctx), t.Whole(), checkpoint.CheckParams(t.params, params...)); err != nil {
		return err
	}
	if err := t.places.Take(ctx, dir); err != nil {
		return err
	}
	t.writing.Lock()
	defer t.writing.Unlock()
	var c taken
	if err := t.Steps.still(func() error { c = t.take(rate, params...); return nil }); err != nil {
		return err
	}
	return c.write(ctx, dir, t.places.Commit)
}

// taken is a checkpoint that was set aside between two updates, and is written while steps continue. The image must be
// closed, which write does.
type taken struct {
	image    checkpoint.Image
	manifest checkpoint.Manifest
}

// take sets a checkpoint aside. No other is taken until it is written.
func (t *Trainer) take(rate float64, params ...string) taken {
	return taken{checkpoint.ImageOf(t.Store(), params...), t.manifest(rate, params...)}
}

// takeOwn sets the next of the job's own checkpoints aside, which may be based on the one before. It is called while no
// step is made and writing is held.
func (t *Trainer) takeOwn(rate float64) (c taken, err error) {
	c.manifest = t.manifest(rate)
	c.manifest.Deeds = slices.Clone(t.deeds)
	base := ""
	if c.manifest.Base = t.series.Base(t.tracker.Remade()); c.manifest.Base != nil {
		base = c.manifest.Base.ID
	}
	c.image, err = t.tracker.Image(c.manifest.ID, base)
	return c, err
}

// manifest returns the manifest of a checkpoint of the present state, of everything or of these params.
func (t *Trainer) manifest(rate float64, params ...string) checkpoint.Manifest {
	store := t.Store()
	m := checkpoint.Manifest{
		ID:          fmt.Sprintf("%d-%s", store.Step(), rand.Text()[:8]),
		Step:        store.Step(),
		RateFactors: store.RateFactors(rate),
	}
	m.Holds(t.rule, t.params, params...)
	if len(params) == 0 {
		m.Pace = t.Pace()
		for _, at := range t.At() { // positions change while it is written
			m.Positions = append(m.Positions, slices.Clone(at))
		}
	}
	return m
}

// write writes the checkpoint, and commit makes it valid. The files are whole on the disk before commit; they are no
// checkpoint if commit fails.
func (c taken) write(ctx context.Context, dir string,
	commit func(context.Context, string, checkpoint.Manifest) error) error {
	defer c.image.Close()
	part, err := checkpoint.WriteImage(ctx, dir, checkpoint.PartName(c.manifest.ID, 0, 1), c.image)
	if err != nil {
		return err
	}
	c.manifest.Parts = []checkpoint.Part{part}
	return commit(ctx, dir, c.manifest)
}
