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
	"github.com/gofleet/gofleet/strategy"
)

// Wide & deep by the package functions, whose fleet is the process's own. Start it with
//
//	fleetrun --server_num=1 --worker_num=2 ./train
func Example_wideAndDeep() {
	if err := wideAndDeep(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
	// Output:
	// TRAIN ---> pass: 0 loss: [0.68]
	// TRAIN ---> pass: 0 loss: [0.79]
	// TRAIN ---> pass: 0 loss: [0.83]
	// TRAIN ---> pass: 0 loss: [1.01]
	// TRAIN ---> pass: 0 loss: [0.73]
	// TRAIN ---> pass: 0 loss: [1.11]
	// TRAIN ---> pass: 0 loss: [0.65]
	// TRAIN ---> pass: 0 loss: [0.88]
}

func wideAndDeep(ctx context.Context, out io.Writer) error {
	if _, err := fleet.Init(nil); err != nil {
		return err
	}
	net := widedeep.New(small())
	opt, err := fleet.DistributedOptimizer(optimizer.SGD{LR: 1e-4}, strategy.Async())
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
	exe := nn.NewExecutor(net.Graph)
	mine := clicks().Shard(fleet.WorkerIndex(), fleet.WorkerNum())
	for epoch := range 1 {
		for batch, err := range mine.Epoch(epoch).DropLast().Batches(10) {
			if err != nil {
				return err
			}
			loss, err := exe.Train(ctx, batch, net.Loss)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "TRAIN ---> pass: %d loss: %.2f\n", epoch, loss[0])
		}
	}
	return fleet.StopWorker(ctx)
}
