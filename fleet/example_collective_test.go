package fleet_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy"
)

// Workers without servers learn handwritten digits: they add their gradients up among themselves, and train as one process
// would on the joined batch:
//
//	fleetrun --nproc_per_node=2 ./train
func Example_collective() {
	train, _, err := readDigits()
	if err != nil {
		log.Fatal(err)
	}
	if err := collectiveTrainer(context.Background(), train.Take(320), os.Stdout); err != nil {
		log.Fatal(err)
	}
	// Output:
	// loss: [2.52], acc: [0.06]
	// loss: [2.35], acc: [0.12]
	// loss: [2.35], acc: [0.22]
	// loss: [2.23], acc: [0.19]
	// loss: [1.79], acc: [0.44]
}

func collectiveTrainer(ctx context.Context, train *dataset.Dataset, out io.Writer) error {
	g, cost, acc := mnistOnMLP()
	f, err := fleet.Init(rolemaker.Collective{})
	if err != nil {
		return err
	}
	opt, err := f.DistributedOptimizer(optimizer.Adam{LR: 0.001}, strategy.Strategy{})
	if err != nil {
		return err
	}
	if err := opt.Minimize(cost); err != nil {
		return err
	}
	if err := f.InitWorker(ctx); err != nil {
		return err
	}
	exe := nn.NewExecutor(g)
	mine := train.Shuffle(1).Shard(f.WorkerIndex(), f.WorkerNum()).DropLast()
	for epoch := range 1 {
		for data, err := range mine.Epoch(epoch).Batches(64) {
			if err != nil {
				return err
			}
			v, err := exe.Train(ctx, data, cost, acc)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "loss: %.2f, acc: %.2f\n", v[0], v[1])
		}
	}
	return f.StopWorker(ctx)
}
