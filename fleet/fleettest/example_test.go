package fleettest_test

import (
	"context"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
)

// A test of a training program: two servers and three workers in one process.
func ExampleRun() {
	var t *testing.T // of func TestTraining(t *testing.T)
	fleettest.Run(t, 2, 3, func(ctx context.Context, f *fleet.Fleet) error {
		g := nn.NewGraph(1)
		x, y := g.Input("x", 1), g.Input("y", 1)
		loss := nn.Mean(nn.SquareError(nn.Linear(x, 1, nn.LinearOptions{}), y))
		res, err := train.Job{
			Options: train.Options{Mode: "sync", Epochs: 50, Batch: 2},
			Loss:    loss,
			Rule:    optimizer.SGD{LR: 0.1},
			Data: func(context.Context) (rows, test *dataset.Dataset, err error) {
				rows = dataset.FromColumns(dataset.FloatValues("x", []float32{0, 1, 2, 0, 1, 2}), dataset.FloatValues("y", []float32{1, 3, 5, 1, 3, 5}))
				return rows, rows, nil
			},
		}.Run(ctx, f)
		if f.IsWorker() && err == nil && res.Last.Value(nil) > 0.01 {
			t.Errorf("worker %d: the loss is %v", f.WorkerIndex(), res.Last.Value(nil))
		}
		return err
	})
}
