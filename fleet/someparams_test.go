package fleet_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// TestSomeParamsAreSaved while a job of any kind trains, right behind a whole checkpoint of the same step: they are in the directory and no
// others, with the weights of that moment, and a process of another kind takes them, by name alone.
//
// Promise: [G6] some params are saved alone, of one cut, while a job of any kind trains
func TestSomeParamsAreSaved(t *testing.T) {
	t.Parallel()
	for name, job := range trial.SomeOf(t, trial.Jobs(t)) {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			some, model := filepath.Join(dir, "some"), filepath.Join(dir, "model")
			c := job.Cluster
			synctest.Test(t, func(t *testing.T) {
				c.Options.Transport = transport.NewMemory()
				c.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
					o := trial.NewToy()
					return trial.Play(ctx, f, o, optimizer.SGD{LR: 0.1}, job.Strategy, func() error {
						if err := errors.Join(o.Train(ctx, trial.Share(f, 0), nil), o.Close(ctx), f.BarrierWorker(ctx)); err != nil {
							return err
						}
						if err := errors.Join(f.SavePersistables(ctx, some), f.SavePersistables(ctx, some, "w", "emb")); err != nil {
							return err
						}
						if err := errors.Join(f.BarrierWorker(ctx), trial.SaveTogether(ctx, f, model, o)); err != nil {
							return err
						}
						if err := f.SavePersistables(ctx, some, "none"); !errors.Is(err, checkpoint.ErrOtherModel) && (f.IsFirstWorker() || f.ServerNum() > 0) {
							t.Errorf("a param that the model has not: %v", err)
						}
						return nil
					})
				})
			})
			var params []string
			for _, p := range trial.Manifest(t, some).Params {
				params = append(params, p.Name)
			}
			if slices.Sort(params); !slices.Equal(params, []string{"emb", "w"}) {
				t.Errorf("saved are %v", params)
			}
			checkTaken(t, some, trial.Weights(t, model))
		})
	}
}

// checkTaken has a process alone begin with what was saved, and compares it with the model.
func checkTaken(t *testing.T, saved string, model []byte) {
	t.Helper()
	taken := t.TempDir()
	trial.Cluster(0, 1).Run(t, func(ctx context.Context, f *fleet.Fleet) error {
		o := trial.NewToy()
		if err := trial.Minimize(f, o, optimizer.SGD{LR: 0.1}, strategy.Sync()); err != nil {
			return err
		}
		if err := f.Restore(ctx, saved, fleet.RestoreOptions{}); !errors.Is(err, checkpoint.ErrOtherModel) {
			t.Errorf("some params for all: %v", err)
		}
		return nil
	})
	trial.Cluster(0, 1).Run(t, func(ctx context.Context, f *fleet.Fleet) error {
		o := trial.NewToy()
		if err := trial.Minimize(f, o, optimizer.SGD{LR: 0.1}, strategy.Sync()); err != nil {
			return err
		}
		if err := f.Restore(ctx, saved, fleet.RestoreOptions{Params: []string{"w", "emb"}, WeightsOnly: true}); err != nil {
			return err
		}
		return trial.Begin(ctx, f, "", func() error { return f.SaveInferenceModel(ctx, taken, o) })
	})
	got := trial.Weights(t, taken)
	for _, name := range []string{"w", "emb"} {
		if !slices.Equal(trial.Tensor[float32](t, got, name), trial.Tensor[float32](t, model, name)) {
			t.Errorf("%s differs from what was saved", name)
		}
	}
}
