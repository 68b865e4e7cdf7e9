package train_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
)

// TestADeadModelIsTold: one warning of a job whose model predicts the same for all test rows, or 0 and 1 alone and wrongly, by the worker
// that leads; none of models that learn, or that are right.
//
// Promise: [G2] a model that predicts the same for all rows is reported once; one that learns, or is right, is not
func TestADeadModelIsTold(t *testing.T) {
	// Serial: it takes over the process's log.
	defer slog.SetDefault(slog.Default())
	for name, c := range map[string]struct {
		loss  func(x, y *nn.Node) *nn.Node
		from  float32 // the least number that is fed
		scale float32
		rate  float64
		rows  int
		want  string
	}{
		"unscaled": {func(x, y *nn.Node) *nn.Node {
			return nn.Mean(nn.LogLoss(nn.Linear(x, 1, nn.LinearOptions{Act: nn.Sigmoid}), y))
		}, -0.49, 1000, 10, 200, "all 0 or 1"},
		"a dead ReLU": {func(x, y *nn.Node) *nn.Node {
			h := nn.Linear(x, 4, nn.LinearOptions{Act: nn.ReLU, Init: optimizer.Constant{Value: -1}})
			return nn.Mean(nn.SquareError(nn.Linear(h, 1, nn.LinearOptions{}), y))
		}, 0.5, 1, 1e-3, 200, "all alike"},
		"healthy": {func(x, y *nn.Node) *nn.Node {
			return nn.Mean(nn.BinaryCrossEntropy(nn.Linear(x, 1, nn.LinearOptions{Act: nn.Sigmoid}), y))
		}, 0.5, 1, 0.5, 200, ""},
		"means of batches": {func(x, y *nn.Node) *nn.Node {
			return nn.SquareError(nn.Mean(nn.Linear(x, 1, nn.LinearOptions{})), nn.Mean(y))
		}, 0.5, 1, 0.1, 200, ""},
		"a dead task of two": {func(x, y *nn.Node) *nn.Node {
			h := nn.Linear(x, 4, nn.LinearOptions{Act: nn.ReLU, Init: optimizer.Constant{Value: -1}})
			alive, dead := nn.Linear(x, 1, nn.LinearOptions{Act: nn.Sigmoid}), nn.Linear(h, 1, nn.LinearOptions{Act: nn.Sigmoid})
			return nn.Add(nn.Mean(nn.BinaryCrossEntropy(alive, y)), nn.Mean(nn.BinaryCrossEntropy(dead, y)))
		}, 0.5, 1, 1e-3, 200, "all alike"},
		"a task of two that is certain and right": {func(x, y *nn.Node) *nn.Node {
			unsure := nn.Linear(x, 1, nn.LinearOptions{Act: nn.Sigmoid})
			sure := nn.Sigmoid(nn.Add(nn.Scale(y, 80, -40), nn.Scale(unsure, 0, 0)))
			return nn.Add(nn.Mean(nn.BinaryCrossEntropy(sure, y)), nn.Mean(nn.BinaryCrossEntropy(unsure, y)))
		}, 0.5, 1, 1e-3, 200, ""},
		"a class that no row has": {func(x, y *nn.Node) *nn.Node {
			p := nn.Softmax(nn.Concat(nn.Linear(x, 2, nn.LinearOptions{}), nn.Scale(x, 0, -40)))
			return nn.Mean(nn.CrossEntropy(p, nn.Cast(y, nn.Int64)))
		}, 0.5, 1, 1e-3, 200, ""},
		"few rows": {func(x, y *nn.Node) *nn.Node {
			return nn.Mean(nn.SquareError(nn.Linear(nn.Scale(x, 0, 0), 1, nn.LinearOptions{}), y))
		}, 0.5, 1, 0.1, 40, ""},
	} {
		var log strings.Builder
		slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
		fleettest.Run(t, 0, 2, func(ctx context.Context, f *fleet.Fleet) error {
			g := nn.NewGraph(1)
			_, err := train.Job{Options: train.Options{Epochs: 3, Batch: 20}, Loss: c.loss(g.Input("x", 1), g.Input("y", 1)),
				Rule: optimizer.SGD{LR: c.rate}, Data: func(context.Context) (rows, test *dataset.Dataset, err error) {
					x, y := make([]float32, c.rows), make([]float32, c.rows)
					for i := range x {
						x[i], y[i] = c.scale*(c.from+float32(i%20)/20), float32(i%3%2)
					}
					rows = dataset.FromColumns(dataset.FloatValues("x", x, 1), dataset.FloatValues("y", y, 1))
					return rows, rows, nil
				}}.Run(ctx, f)
			return err
		})
		told := strings.Count(log.String(), "the model predicts the same whatever it is fed")
		if want := min(len(c.want), 1); told != want || !strings.Contains(log.String(), c.want) {
			t.Errorf("%s: told %d times, want %d, of predictions %q: %s", name, told, want, c.want, log.String())
		}
	}
}
