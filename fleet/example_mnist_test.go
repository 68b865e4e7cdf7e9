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
	"github.com/gofleet/gofleet/strategy"
)

// A perceptron of two hidden layers learns handwritten digits, asynchronously on a cluster:
//
//	fleetrun --server_num=2 --worker_num=2 ./train
func Example_mnist() {
	train, _, err := readDigits()
	if err != nil {
		log.Fatal(err)
	}
	if err := mnist(context.Background(), train.Take(320), os.Stdout); err != nil {
		log.Fatal(err)
	}
	// Output:
	// loss: [2.52], acc: [0.06]
	// loss: [2.35], acc: [0.12]
	// loss: [2.35], acc: [0.22]
	// loss: [2.23], acc: [0.19]
	// loss: [1.79], acc: [0.44]
}

func mnistOnMLP() (g *nn.Graph, cost, acc *nn.Node) {
	g = nn.NewGraph(1)
	x, y := g.Input("img", 1, 28, 28), g.IDs("label", 1)
	fc1 := nn.Linear(nn.Reshape(x, 784), 128, nn.LinearOptions{Act: nn.Tanh})
	fc2 := nn.Linear(fc1, 128, nn.LinearOptions{Act: nn.Tanh})
	prediction := nn.Linear(fc2, 10, nn.LinearOptions{Act: nn.Softmax})
	cost = nn.Mean(nn.CrossEntropy(prediction, y))
	acc = nn.BatchAccuracy(prediction, y)
	return g, cost, acc
}

func mnist(ctx context.Context, train *dataset.Dataset, out io.Writer) error {
	g, cost, acc := mnistOnMLP()
	f, err := fleet.Init(nil)
	if err != nil {
		return err
	}
	opt, err := f.DistributedOptimizer(optimizer.Adam{LR: 0.001}, strategy.Async())
	if err != nil {
		return err
	}
	if err := opt.Minimize(cost); err != nil {
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
