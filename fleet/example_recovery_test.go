package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy"
	tensors "gorgonia.org/tensor"
)

// A job fails in its third epoch and is started again: it goes on after the second, with its weights.
func Example_survive() {
	dir, err := os.MkdirTemp("", "checkpoints")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for attempt := range 2 {
		f, err := fleet.New(context.Background(), rolemaker.Local{}, fleet.Options{})
		if err != nil {
			log.Fatal(err)
		}
		err = survive(context.Background(), f, dir, func(epoch int) error {
			if attempt == 0 && epoch == 2 {
				return errors.New("the machine is gone")
			}
			return nil
		})
		fmt.Println("attempt", attempt+1, "ends with", err)
		f.Close()
	}
	// Output:
	// epoch 0
	// epoch 1
	// attempt 1 ends with the machine is gone
	// epoch 2
	// epoch 3
	// attempt 2 ends with <nil>
}

// survive trains a line for four epochs, each of which may fail.
func survive(ctx context.Context, f *fleet.Fleet, dir string, fails func(epoch int) error) error {
	g := nn.NewGraph(1)
	loss := nn.Mean(nn.SquareError(nn.Linear(g.Input("x", 1), 1, nn.LinearOptions{}), g.Input("y", 1)))
	exe := nn.NewExecutor(g)
	column := func() *tensors.Dense {
		return tensors.New(tensors.WithShape(3, 1), tensors.WithBacking([]float32{1, 2, 3}))
	}
	trainEpoch := func(ctx context.Context, epoch int) error {
		if err := fails(epoch); err != nil {
			return err
		}
		fmt.Println("epoch", epoch)
		_, err := exe.Train(ctx, map[string]*tensors.Dense{"x": column(), "y": column()}, loss)
		return err
	}
	publish := func(ctx context.Context, epoch int) error {
		if !f.IsFirstWorker() {
			return nil
		}
		_, err := f.Shrink(ctx, fleet.ShrinkOptions{Period: fmt.Sprint(epoch)})
		return err
	}
	return recovering(ctx, f, loss, dir, 4, trainEpoch, publish)
}

// recovering is the program of RECOVERY.md.
func recovering(ctx context.Context, f *fleet.Fleet, loss *nn.Node, dir string, epochs int,
	trainEpoch, publish func(context.Context, int) error) error {
	s := strategy.Sync()
	s.Recovery = strategy.Recovery{Dir: dir, Every: strategy.Duration(10 * time.Minute)}
	opt, err := f.DistributedOptimizer(optimizer.SGD{LR: 0.1}, s)
	if err != nil {
		return err
	}
	if err = opt.Minimize(loss); err != nil {
		return err
	}
	if f.IsServer() {
		if err = f.InitServer(ctx, ""); err != nil {
			return err
		}
		return f.RunServer(ctx)
	}
	if err = f.InitWorker(ctx); err != nil {
		return err
	}
	for epoch := f.FirstEpoch(); epoch < epochs; epoch++ {
		if err = trainEpoch(ctx, epoch); err != nil {
			return err
		}
		if err = f.BarrierWorker(ctx); err != nil {
			return err
		}
		if err = publish(ctx, epoch); err != nil {
			return err
		}
		if err = f.SetProgress(fleet.Progress{Epoch: epoch + 1}); err != nil {
			return err
		}
		if err = f.Checkpoint(ctx); err != nil {
			return err
		}
	}
	err = f.StopWorker(ctx)
	return err
}
