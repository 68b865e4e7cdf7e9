package train_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
)

// TestWeightedLossesOfManyBatches: an evaluation of a weighted mean is Σ w·x / Σ w over the rows of all batches and workers, whatever each
// batch weighs, and NaN where nothing does; a mean beside it is that of examples.
//
// Promise: [G2] a weighted loss is evaluated over all rows as one batch would be
func TestWeightedLossesOfManyBatches(t *testing.T) {
	t.Parallel()
	const rows = 5000
	x, w := make([]float32, rows), make([]float32, rows)
	var sum, weights, mean float64
	for i := range x {
		x[i], w[i] = float32(i%7), float32(i*i/1_000_000) // the first batches weigh nothing
		sum, weights, mean = sum+float64(x[i]*w[i]), weights+float64(w[i]), mean+float64(x[i])/rows
	}
	data := dataset.FromColumns(dataset.FloatValues("x", x, 1), dataset.FloatValues("w", w, 1))
	for _, workers := range []int{1, 3} {
		fleettest.Run(t, 0, workers, func(ctx context.Context, f *fleet.Fleet) error {
			g := nn.NewGraph(1)
			in, weight := g.Input("x", 1), g.Input("w", 1)
			got, err := train.Evaluate(ctx, f, data, nn.WeightedMean(in, weight), nn.Mean(in),
				nn.WeightedMean(in, nn.Scale(weight, 0, 0)))
			if err != nil {
				return err
			}
			if math.Abs(got[0]-sum/weights) > 1e-5 || math.Abs(got[1]-mean) > 1e-5 || !math.IsNaN(got[2]) {
				t.Errorf("%d workers: %v, want %v, %v and NaN", workers, got, sum/weights, mean)
			}
			return f.StopWorker(ctx)
		})
	}
}

// TestTrainLossOfAWeightedMean: the loss of the rows that are trained on is by their weights too, so that a model which stays as it is has
// the same loss on them in training and in an evaluation, in every kind of job and with threads.
func TestTrainLossOfAWeightedMean(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	const rows = 60
	x, w := make([]float32, rows), make([]float32, rows)
	for i := range x {
		x[i], w[i] = float32(i%7), float32(i/20*i/20) // the first batches weigh nothing
	}
	data := dataset.FromColumns(dataset.FloatValues("x", x, 1), dataset.FloatValues("w", w, 1))
	for _, c := range []struct {
		servers, workers, threads int
		mode                      string
	}{{0, 1, 1, ""}, {0, 2, 1, ""}, {0, 1, 2, ""}, {2, 2, 1, "sync"}, {1, 2, 2, "async"}, {1, 1, 1, "geo"}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			results, _ := play(t, c.servers, c.workers, func() train.Job {
				g := nn.NewGraph(1)
				y := nn.Linear(g.Input("x", 1), 1, nn.LinearOptions{})
				return train.Job{Options: train.Options{Mode: c.mode, Epochs: 2, Batch: 5, EvalEvery: 2,
					Threads: c.threads},
					Loss: nn.WeightedMean(nn.Square(y), g.Input("w", 1)), Rule: optimizer.SGD{LR: 1e-12},
					Rows: func(_ int, all *dataset.Dataset) *dataset.Dataset { return all },
					Data: func(context.Context) (_, _ *dataset.Dataset, err error) { return data, data, nil }}
			})
			ends := 0
			for _, e := range results[0].History {
				if got, want := e.Values[train.TrainLoss], e.Values[train.EvalLoss]; e.End &&
					!(math.Abs(got-want) <= 1e-5*want) {
					t.Errorf("epoch %d: a loss of %v in training, of %v in an evaluation", e.Epoch, got, want)
				}
				if e.End {
					ends++
				}
			}
			if ends != 2 {
				t.Errorf("the history is %v", results[0].History)
			}
		})
	}
}
