package train_test

import (
	"context"
	"math"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/nn"
)

// TestWeightedLossesOfManyBatches: an evaluation of a weighted mean is Σ w·x / Σ w over the rows of all batches and workers, whatever each
// batch weighs, and NaN where nothing does; a mean beside it is that of examples.
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
			got, err := train.Evaluate(ctx, f, data, nn.WeightedMean(in, weight), nn.Mean(in), nn.WeightedMean(in, nn.Scale(weight, 0, 0)))
			if err != nil {
				return err
			}
			if math.Abs(got[0]-sum/weights) > 1e-5 || math.Abs(got[1]-mean) > 1e-5 || !math.IsNaN(got[2]) {
				t.Errorf("%d workers: %v, want %v, %v and NaN", workers, got, sum/weights, mean)
			}
			return nil
		})
	}
}
