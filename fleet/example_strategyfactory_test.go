package fleet_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy"
)

// What a program that trains in one process needs to train on a cluster. Network, optimizer and training stay as they were.
func Example_strategyFactory() {
	net := widedeep.New(small())
	train := func(ctx context.Context) error { return trainOn(ctx, net, os.Stdout) }
	if err := onCluster(context.Background(), net, optimizer.Adagrad{LR: 0.01}, train); err != nil {
		log.Fatal(err)
	}
	// Output: 80 examples
}

func onCluster(ctx context.Context, net model, rule optimizer.Rule, train func(context.Context) error) error {
	role := rolemaker.PaddleCloud{}
	if _, err := fleet.Init(role); err != nil {
		return err
	}
	opt, err := fleet.DistributedOptimizer(rule, strategy.Sync())
	if err != nil {
		return err
	}
	if err := opt.Minimize(net.Loss); err != nil {
		return err
	}
	if fleet.IsServer() {
		if err := fleet.InitServer(ctx, ""); err != nil {
			return err
		}
		return fleet.RunServer(ctx)
	}
	if err := fleet.InitWorker(ctx); err != nil {
		return err
	}
	if err := train(ctx); err != nil {
		return err
	}
	return fleet.StopWorker(ctx)
}

// trainOn is the training that was there before.
func trainOn(ctx context.Context, net model, out io.Writer) error {
	done, err := nn.NewExecutor(net.Graph).TrainFrom(ctx, clicks().Batches(8), nn.TrainOptions{})
	fmt.Fprintln(out, done.Samples, "examples")
	return err
}
