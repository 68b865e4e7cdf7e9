package fleet_test

import (
	"context"
	"errors"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// TestServersLoadBeforeTheyServe: tables that are served are not replaced, and a directory must be one of a checkpoint.
func TestServersLoadBeforeTheyServe(t *testing.T) {
	fleettest.Run(t, 1, 1, func(ctx context.Context, f *fleet.Fleet) error {
		if err := train(ctx, f, optimizer.SGD{LR: 0.1}, strategy.Sync(), 2, nil); err != nil || f.IsWorker() {
			return err
		}
		for name, err := range map[string]error{"InitServer": f.InitServer(ctx, ""), "LoadModel": f.LoadModel(ctx, "")} {
			if want := map[string]error{"InitServer": fleet.ErrOrder, "LoadModel": checkpoint.ErrNone}[name]; !errors.Is(err, want) {
				t.Errorf("%s after RunServer: got %v, want %v", name, err, want)
			}
		}
		if err := f.LoadModel(ctx, t.TempDir()); !errors.Is(err, checkpoint.ErrNone) {
			t.Errorf("an empty directory: %v", err)
		}
		return nil
	})
}
