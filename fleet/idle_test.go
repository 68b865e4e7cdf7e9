package fleet_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// TestAWorkerWithoutFiles: of three workers and two files, the one without a file is told so; one that says it may have none sits
// the epoch out, and the others train, in rounds and without.
func TestAWorkerWithoutFiles(t *testing.T) {
	t.Parallel()
	dir, paths := t.TempDir(), []string{}
	for _, name := range []string{"a", "b"} {
		paths = append(paths, filepath.Join(dir, name))
		if err := os.WriteFile(paths[len(paths)-1], []byte("x:1 y:2\nx:2 y:4\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	format := dataset.SlotText{Slots: []dataset.SlotColumn{{Column: dataset.Floats("x")}, {Column: dataset.Floats("y")}}}
	for _, s := range []strategy.Strategy{strategy.Sync(), strategy.Async()} {
		fleettest.Run(t, 2, 3, func(ctx context.Context, f *fleet.Fleet) error {
			g := nn.NewGraph(1)
			loss := nn.Mean(nn.SquareError(nn.Linear(g.Input("x", 1), 1, nn.LinearOptions{}), g.Input("y", 1)))
			return trial.PlayGraph(ctx, f, loss, optimizer.SGD{LR: 0.1}, s, func(exe *nn.Executor) error {
				mine, err := dataset.FileShard(paths, f.WorkerIndex(), f.WorkerNum())
				if err != nil {
					return err
				}
				rows := dataset.FromFiles(format, mine...)
				if len(mine) == 0 {
					if _, err := exe.TrainFrom(ctx, rows.Batches(1), nn.TrainOptions{}); !errors.Is(err, dataset.ErrNoRows) {
						t.Errorf("an epoch of no files: %v", err)
					}
				}
				for range 3 {
					res, err := exe.TrainFrom(ctx, rows.MayBeEmpty().Batches(1), nn.TrainOptions{MayBeEmpty: true})
					if err != nil || res.Steps != 2*len(mine) {
						t.Errorf("worker %d of %d files: %d steps, %v", f.WorkerIndex(), len(mine), res.Steps, err)
					}
				}
				return f.BarrierWorker(ctx)
			})
		})
	}
}
