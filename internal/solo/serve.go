package solo

import (
	"context"
	"errors"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/table"
)

// Serve implements [backend.Trainer]: steps wait until it is over. If commit fails, the model may be whole or not, so
// the chain is uncertain and the next model is a base.
func (t *Trainer) Serve(_ context.Context, how table.Serving, as *progress.Deed, write func(backend.Serving) error,
	commit func() (table.Chain, error)) error {
	if err := t.Whole(); err != nil {
		return err
	}
	t.writing.Lock()
	defer t.writing.Unlock()
	return t.local.Still(func() error {
		if done, err := t.deeds.Done(as); err != nil || as.Tell(done) {
			return err
		}
		store := t.Store()
		chain := store.Chain()
		if err := backend.Follows(how, chain); err != nil {
			return err
		}
		all := store.Select(how)
		rows, gone := weights{t.local, map[string][]uint64{}}, map[string][]uint64{}
		v := backend.Serving{Weights: rows, Chain: chain,
			Gone: func(_ context.Context, name string, do func(ids []uint64) error) error { return do(gone[name]) }}
		for i, table := range store.Tables {
			rows.listed[table.Param().Name], gone[table.Param().Name] = all[i].Rows, all[i].Gone
			v.Left += all[i].Left
		}
		if err := write(v); err != nil {
			return err
		}
		now, err := commit()
		switch {
		case err == nil:
			store.Serve(all, now)
			t.deeds.Add(as, as.Result())
		case now != table.Chain{}:
			store.SetChain(chain.Doubted())
		default:
			return err
		}
		t.saved = nil // no checkpoint has this content
		return err
	})
}

// SaveBatch implements [backend.Trainer]: steps wait until it is over.
func (t *Trainer) SaveBatch(ctx context.Context, dir string, o table.Shrink, as *progress.Deed) error {
	defer t.places.Release()
	return t.WriteBatch(ctx, dir, t.local.RateFactor(), func(error) error { return nil }, o, as)
}

// WriteBatch is SaveBatch with the factor on learning rates with which a job continues. When the checkpoint is whole,
// or can't be written, agree decides whether the period ends. The directory is this job's until Release. WriteBatch
// returns agree's error too, and then no period has ended here.
func (t *Trainer) WriteBatch(ctx context.Context, dir string, rate float64, agree func(error) error,
	o table.Shrink, as *progress.Deed) error {
	t.writing.Lock()
	defer t.writing.Unlock()
	return t.EndBatch(o, as, func() error {
		err := errors.Join(files.Ended(ctx), t.Whole())
		if err == nil {
			err = t.places.Take(ctx, dir)
		}
		if err == nil {
			c := taken{checkpoint.ImageOf(t.Store()), t.manifest(rate)}
			err = c.write(ctx, dir, t.places.Commit)
		}
		if err = errors.Join(err, agree(err)); err == nil {
			t.saved = nil // no checkpoint of the job's own has this content
		}
		return err
	})
}

// EndBatch ends the period of a batch that write has saved, unless it was done before. Steps wait until it is over.
func (t *Trainer) EndBatch(o table.Shrink, as *progress.Deed, write func() error) error {
	return t.Steps.still(func() error {
		done, err := t.deeds.Done(as)
		if err != nil || as.Tell(done) {
			return err
		}
		if err := write(); err != nil {
			return err
		}
		if _, err = t.Store().EndPeriod(o); err == nil {
			t.deeds.Add(as, nil)
		}
		return err
	})
}
