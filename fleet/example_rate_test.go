package fleet_test

import (
	"context"
	"errors"
	"fmt"

	gorgonia "gorgonia.org/tensor"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/lr"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy"
)

// The rate was chosen too large. It falls when the loss has not.
func ExampleFleet_SetRate() {
	f, err := fleet.New(context.Background(), rolemaker.Local{}, fleet.Options{})
	if err == nil {
		err = trainDown(context.Background(), f)
	}
	fmt.Println(err)
	// Output:
	// loss 1, rate 1.5
	// loss 4, rate 1.5
	// loss 16, rate 0.15
	// loss 64, rate 0.15
	// loss 31.4, rate 0.15
	// loss 15.4, rate 0.15
	// <nil>
}

func trainDown(ctx context.Context, f *fleet.Fleet) error {
	g := nn.NewGraph(1)
	x := g.Input("x", 2)
	w := g.Parameter(nn.ParameterOptions{Name: "w", Init: optimizer.Constant{Value: 1}}, 2, 1)
	loss := nn.Mean(nn.Multiply(nn.MatMul(x, w), nn.MatMul(x, w)))
	opt, err := f.DistributedOptimizer(optimizer.SGD{LR: 1.5}, strategy.Sync())
	if err != nil {
		return err
	}
	if err := errors.Join(opt.Minimize(loss), f.InitWorker(ctx)); err != nil {
		return err
	}
	exe := nn.NewExecutor(g)
	batch := map[string]*gorgonia.Dense{"x": gorgonia.New(gorgonia.WithShape(1, 2), gorgonia.WithBacking([]float32{1, 0}))}
	plateau := lr.ReduceOnPlateau{LR: 1.5, Patience: 1, Cooldown: 5}
	for range 6 {
		out, err := exe.Train(ctx, batch, loss)
		if err != nil {
			return err
		}
		plateau.Step(float64(out[0].Float32s()[0]))
		if err := f.SetRate(ctx, plateau.Rate()); err != nil {
			return err
		}
		fmt.Printf("loss %.3g, rate %.3g\n", out[0].Float32s()[0], plateau.Rate())
	}
	return f.StopWorker(ctx)
}
