package fleet_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// TestServersLoadBeforeTheyServe: tables that are served are not replaced, and a directory must be one of a checkpoint.
func TestServersLoadBeforeTheyServe(t *testing.T) {
	t.Parallel()
	fleettest.Run(t, 1, 1, func(ctx context.Context, f *fleet.Fleet) error {
		if err := (trial.Training{Strategy: strategy.Sync(), To: 2}).Run(ctx, f); err != nil || f.IsWorker() {
			return err
		}
		for name, err := range map[string]error{"InitServer": f.InitServer(ctx, ""), "LoadModel": f.LoadModel(ctx, t.TempDir()), "RunServer": f.RunServer(ctx)} {
			if want := map[string]error{"InitServer": fleet.ErrOrder, "LoadModel": fleet.ErrRole, "RunServer": fleet.ErrOrder}[name]; !errors.Is(err, want) {
				t.Errorf("%s after RunServer: got %v, want %v", name, err, want)
			}
		}
		if err := f.InitServer(ctx, t.TempDir()); !errors.Is(err, checkpoint.ErrNone) {
			t.Errorf("an empty directory: %v", err)
		}
		if err := f.InitServer(ctx, "", "w"); !errors.Is(err, checkpoint.ErrNone) {
			t.Errorf("a param of no checkpoint: %v", err)
		}
		return nil
	})
}

// TestLoadOfSomeParams begins a job with two params of another job's checkpoint: those it has from there, whatever servers wrote
// them and read them, and all others are new.
func TestLoadOfSomeParams(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	saved, fresh := t.TempDir(), trial.NewToy()
	old := trial.Training{Strategy: strategy.Sync(), To: 3, Save: saved}.Weights(t, trial.Cluster(2, 2))
	begin := trial.Training{Strategy: strategy.Sync(), Load: saved, Params: []string{"big", "emb"}}
	for name, c := range map[string]fleettest.Cluster{"alone": trial.Cluster(0, 1), "with servers": trial.Cluster(3, 2), "collective": trial.Cluster(0, 2)} {
		t.Run(name, func(t *testing.T) {
			got := begin.Weights(t, c)
			for _, name := range []string{"big", "emb"} {
				if !slices.Equal(trial.Tensor[float32](t, got, name), trial.Tensor[float32](t, old, name)) {
					t.Errorf("%s is not the one of the checkpoint", name)
				}
			}
			for _, p := range []*optimizer.Param{fresh.W, fresh.B} {
				if !slices.Equal(trial.Tensor[float32](t, got, p.Name), p.W) {
					t.Errorf("%s is not new", p.Name)
				}
			}
			if ids := trial.Tensor[uint64](t, got, "open.ids"); len(ids) != 0 {
				t.Errorf("open has %d rows", len(ids))
			}
		})
	}
}
