package replica

import (
	"context"
	"fmt"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/collective"
	"github.com/gofleet/gofleet/internal/epoch"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/table"
)

// Meet calls do to communicate with the other workers between steps. It ends the epoch first, so that workers with more
// batches go on until they make the same call.
func (t *Trainer) Meet(ctx context.Context, do func(*collective.Group) error) error {
	if err := t.EndEpoch(ctx); err != nil {
		return err
	}
	return t.named(do(t.group))
}

// Barrier implements [backend.Trainer].
func (t *Trainer) Barrier(ctx context.Context) error {
	return t.Meet(ctx, func(g *collective.Group) error { return g.Barrier(ctx) })
}

// Gather implements [backend.Trainer]. The group compares the workers' calls.
func (t *Trainer) Gather(ctx context.Context, _ string, data []byte) (all [][]byte, err error) {
	err = t.Meet(ctx, func(g *collective.Group) error { all, err = g.AllGather(ctx, data); return err })
	return all, err
}

// Ask implements [backend.Trainer].
func (t *Trainer) Ask(ctx context.Context, at epoch.At) (*epoch.Told, error) {
	return t.AskAll(ctx, at, func(ctx context.Context, said []byte) ([][]byte, error) {
		return t.Gather(ctx, "", said)
	})
}

// Save implements [backend.Trainer]. The copies are the same: only rank 0 writes, without waiting for the others.
func (t *Trainer) Save(ctx context.Context, dir string, params ...string) error {
	if t.c.Group.Rank != 0 {
		return nil
	}
	return t.WriteCheckpoint(ctx, dir, t.rate(), params...)
}

// Saves implements [backend.Trainer]. Rank 0 saves, since no job goes on without one of its workers. Before the last
// save all have come to the end of their batches.
func (t *Trainer) Saves(ctx context.Context, last bool) (bool, error) {
	if _, err := t.ready(); err != nil {
		return false, err
	}
	if last {
		if err := t.EndEpoch(ctx); err != nil {
			return false, err
		}
	}
	return t.c.Group.Rank == 0, nil
}

// Checkpoint implements [backend.Trainer], as Save does.
func (t *Trainer) Checkpoint(ctx context.Context, progressed func() checkpoint.Progress,
	frozen func() map[string][]float32) error {
	if t.c.Group.Rank != 0 {
		return nil
	}
	return t.WriteNext(ctx, progressed, frozen, t.rate())
}

// Serve implements [backend.Trainer]. Only rank 0 writes, without waiting for the others.
func (t *Trainer) Serve(ctx context.Context, how table.Serving, as *progress.Deed, write func(backend.Serving) error,
	commit func() (table.Chain, error)) error {
	if t.c.Group.Rank != 0 {
		return nil
	}
	return t.Trainer.Serve(ctx, how, as, write, commit)
}

// SaveBatch implements [backend.Trainer]. All workers call it, rank 0 writes, and if that succeeds all end the period
// of their copies.
func (t *Trainer) SaveBatch(ctx context.Context, dir string, o table.Shrink, as *progress.Deed) error {
	return t.Meet(ctx, func(g *collective.Group) error {
		agree := func(failed error) error {
			said := ""
			if failed != nil {
				said = failed.Error()
			}
			all, err := g.AllGather(ctx, []byte(said))
			if err == nil && t.c.Group.Rank != 0 && len(all[0]) > 0 {
				err = fmt.Errorf("worker 0 has not saved it: %s", all[0])
			}
			return err
		}
		if t.c.Group.Rank == 0 {
			return t.WriteBatch(ctx, dir, t.rate(), agree, o, as)
		}
		return t.EndBatch(o, as, func() error { return agree(nil) })
	})
}

// Shrink implements [backend.Trainer]. All end the period of their copies after a barrier.
func (t *Trainer) Shrink(ctx context.Context, o table.Shrink, as *progress.Deed) ([]table.Shrunk, error) {
	if err := t.Barrier(ctx); err != nil {
		return nil, err
	}
	return t.Trainer.Shrink(ctx, o, as)
}
