package fleet_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	gorgonia "gorgonia.org/tensor"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// TestMovingAveragesStayFinite: where gradients that are not finite are skipped or clipped, a batch that makes them leaves the
// moving averages of mean and variance as numbers too.
func TestMovingAveragesStayFinite(t *testing.T) {
	t.Parallel()
	layers := map[string]func(x *nn.Node) *nn.Node{
		"batch norm": func(x *nn.Node) *nn.Node { return nn.BatchNorm(x, nn.NormOptions{}) },
		"batch norm of positions": func(x *nn.Node) *nn.Node {
			return nn.Reshape(nn.BatchNorm(nn.Reshape(x, 2, 2, 1), nn.NormOptions{}), 4)
		},
		"dice": nn.Dice,
	}
	for name, layer := range layers {
		for _, policy := range []strategy.NotFinite{strategy.NotFiniteSkip, strategy.NotFiniteClip} {
			for _, v := range []float64{math.NaN(), math.Inf(1), math.MaxFloat32} {
				t.Run(fmt.Sprintf("%s/%s/%g", name, policy, v), func(t *testing.T) {
					t.Parallel()
					s := strategy.Strategy{Mode: strategy.ModeAsync, NotFinite: policy}
					fleettest.Run(t, 0, 1, func(ctx context.Context, f *fleet.Fleet) error {
						return normalise(ctx, f, s, layer, float32(v))
					})
				})
			}
		}
	}
}

// normalise trains on five batches, of which the second has an element v, and evaluates.
func normalise(ctx context.Context, f *fleet.Fleet, s strategy.Strategy, layer func(*nn.Node) *nn.Node, v float32) error {
	g := nn.NewGraph(1)
	y := nn.Linear(layer(g.Input("x", 4)), 1, nn.LinearOptions{})
	loss := nn.Mean(nn.SquareError(y, g.Input("label", 1)))
	return trial.Play(ctx, f, loss, optimizer.SGD{LR: 0.1}, s, func() error {
		e := nn.NewExecutor(g)
		batch := func(v float32) map[string]*gorgonia.Dense {
			return map[string]*gorgonia.Dense{
				"x": nn.Floats([]float32{1, 2, 3, 4, v, 6, 7, 8}, 4), "label": nn.Floats([]float32{0, 1}, 1),
			}
		}
		for i := range 5 {
			x := float32(5)
			if i == 1 {
				x = v
			}
			if _, err := e.Train(ctx, batch(x)); err != nil {
				return err
			}
		}
		out, err := e.Eval(ctx, batch(5), y)
		if err != nil {
			return err
		}
		for _, v := range out[0].Data().([]float32) {
			if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
				return fmt.Errorf("an evaluation gives %v", out[0].Data())
			}
		}
		return nil
	})
}
