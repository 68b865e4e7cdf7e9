package solo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/table"
)

// Save implements [backend.Trainer]. A process that trains alone has the directory to itself while it writes.
func (t *Trainer) Save(ctx context.Context, dir string, params ...string) error {
	defer t.places.Release()
	return t.WriteCheckpoint(ctx, dir, t.local.RateFactor(), params...)
}

// WriteCheckpoint is Save with the factor on learning rates that a job goes on with. The directory is this job's until Release.
func (t *Trainer) WriteCheckpoint(ctx context.Context, dir string, rate float64, params ...string) error {
	if err := errors.Join(files.Ended(ctx), t.Whole(), checkpoint.CheckParams(t.params, params...)); err != nil {
		return err
	}
	if err := t.places.Take(ctx, dir); err != nil {
		return err
	}
	return t.local.Still(func() error { return t.write(ctx, dir, rate, nil, nil, params...) })
}

// write writes a checkpoint between two updates.
func (t *Trainer) write(ctx context.Context, dir string, rate float64, p *checkpoint.Progress, positions [][]progress.Position,
	params ...string) error {
	store := t.Store()
	id := fmt.Sprintf("%d-%s", store.Step(), rand.Text()[:8])
	part, err := checkpoint.WritePart(ctx, dir, checkpoint.PartName(id, 0, 1), store, params...)
	if err != nil {
		return err
	}
	return checkpoint.Commit(dir, checkpoint.Manifest{ID: id, Rule: t.rule.Name(), Step: store.Step(), RateFactors: store.RateFactors(rate),
		Progress: p, Positions: positions, Params: checkpoint.Params(t.params, params...), Parts: []checkpoint.Part{part}})
}

// Shrink implements [backend.Trainer].
func (t *Trainer) Shrink(_ context.Context, o table.Shrink) (freed []table.Shrunk, err error) {
	err = t.local.Still(func() error { freed, err = t.Store().EndPeriod(o); return err })
	return freed, err
}
