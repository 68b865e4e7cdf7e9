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

// Synchronous training in the role that PaddleCloud's variables give; where there are none, alone.
func Example_quickStart() {
	if err := quickStart(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
	// Output:
	// TRAIN ---> pass: 0 loss: [0.69]
	// TRAIN ---> pass: 0 loss: [0.67]
	// TRAIN ---> pass: 0 loss: [0.76]
	// TRAIN ---> pass: 0 loss: [0.78]
	// TRAIN ---> pass: 0 loss: [0.77]
	// TRAIN ---> pass: 0 loss: [0.62]
}

func quickStart(ctx context.Context, out io.Writer) error {
	f, err := fleet.Init(rolemaker.PaddleCloud{})
	if err != nil {
		return err
	}
	net, train := widedeep.New(small()), clicks().Take(24)
	opt, err := f.DistributedOptimizer(optimizer.SGD{LR: 1e-4}, strategy.Sync())
	if err != nil {
		return err
	}
	if err := opt.Minimize(net.Loss); err != nil {
		return err
	}
	if f.IsServer() {
		if err := f.InitServer(ctx, ""); err != nil {
			return err
		}
		return f.RunServer(ctx)
	}
	if err := f.InitWorker(ctx); err != nil {
		return err
	}
	exe := nn.NewExecutor(net.Graph)
	for epoch := range 1 {
		for batch, err := range train.Shard(f.WorkerIndex(), f.WorkerNum()).Batches(4) {
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
	return f.StopWorker(ctx)
}
