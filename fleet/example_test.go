package fleet_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy"
)

// One program is every role. Here, where the environment names no cluster, it trains alone.
func Example() {
	dir, err := os.MkdirTemp("", "checkpoint")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := everyRole(context.Background(), small(), clicks(), "", dir); err != nil {
		log.Fatal(err)
	}
	// Output:
	// loss [0.84] AUC [0.42]
}

// everyRole is the program that each process of a job runs.
func everyRole(ctx context.Context, cfg config, train *dataset.Dataset, modelDir, dir string) error {
	f, err := fleet.Init(rolemaker.PaddleCloud{}) // the role of this process (nil: look for MPI and Slurm too)
	if err != nil {
		return err
	}
	net := widedeep.New(cfg) // the model, built on every role
	opt, err := f.DistributedOptimizer(optimizer.Adam{LR: 1e-3}, strategy.Async())
	if err != nil {
		return err
	}
	err = opt.Minimize(net.Loss) // places the parameters, on every role
	if err != nil {
		return err
	}
	err = f.Restore(ctx, modelDir, fleet.RestoreOptions{}) // a checkpoint or a model to begin from, on every role; "" = none
	if err != nil {
		return err
	}
	if f.IsServer() {
		err = f.InitServer(ctx, "") // with what Restore read, or fresh
		if err != nil {
			return err
		}
		return f.RunServer(ctx) // until every worker has stopped, or ctx ends
	}
	err = f.InitWorker(ctx) // waits for servers, pulls the first weights
	if err != nil {
		return err
	}
	exe := nn.NewExecutor(net.Graph)
	for batch, err := range train.Batches(512) {
		if err != nil {
			return err
		}
		out, err := exe.Train(ctx, batch, net.Loss, net.AUC)
		if err != nil {
			return err
		}
		fmt.Printf("loss %.2f AUC %.2f\n", out[0], out[1])
	}
	err = f.SavePersistables(ctx, dir)
	if err != nil {
		return err
	}
	err = f.StopWorker(ctx)
	return err
}
