package main

import (
	"context"
	"fmt"
	"io"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/examples/mnist/digits"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

type config struct {
	epochs   int
	strategy strategy.Strategy
}

// model is the perceptron of the original's quick start.
type model struct {
	graph     *nn.Graph
	cost, acc *nn.Node
}

func newModel() model {
	g := nn.NewGraph(1)
	x, y := g.Input("img", 1, 28, 28), g.IDs("label", 1)
	h := nn.Linear(nn.Reshape(x, 784), 128, nn.LinearOptions{Act: nn.Tanh})
	h = nn.Linear(h, 128, nn.LinearOptions{Act: nn.Tanh})
	prediction := nn.Linear(h, 10, nn.LinearOptions{Act: nn.Softmax})
	return model{graph: g, cost: nn.Mean(nn.CrossEntropy(prediction, y)), acc: nn.Accuracy(prediction, y)}
}

// run is the program of every role. Worker 0 returns the accuracy on the digits held back.
func run(ctx context.Context, f *fleet.Fleet, c config, out io.Writer) (accuracy float64, err error) {
	train, test, err := digits.Load()
	if err != nil {
		return 0, err
	}
	net := newModel()
	opt, err := f.DistributedOptimizer(optimizer.Adam{LR: 1e-3}, c.strategy)
	if err != nil {
		return 0, err
	}
	if err := opt.Minimize(net.cost); err != nil {
		return 0, err
	}
	if f.IsServer() {
		if err := f.InitServer(ctx, ""); err != nil {
			return 0, err
		}
		return 0, f.RunServer(ctx)
	}
	if err := f.InitWorker(ctx); err != nil {
		return 0, err
	}
	exe := nn.NewExecutor(net.graph)
	mine := train.Shuffle(1).Shard(f.WorkerIndex(), f.WorkerNum())
	for epoch := range c.epochs {
		exe.ResetMetrics()
		done, err := exe.TrainFrom(ctx, mine.Epoch(epoch).DropLast().Batches(64), nn.TrainOptions{Fetch: []*nn.Node{net.acc}})
		if err != nil {
			return 0, err
		}
		fmt.Fprintf(out, "epoch %d/%d  loss: %.4f, acc: %.4f\n", epoch+1, c.epochs, done.Loss, done.Last[0].Data().([]float32)[0])
	}
	if err := f.BarrierWorker(ctx); err != nil {
		return 0, err
	}
	if f.IsFirstWorker() {
		if accuracy, err = evaluate(ctx, exe, net, test); err != nil {
			return 0, err
		}
		fmt.Fprintf(out, "test accuracy %.4f\n", accuracy)
	}
	if err := exe.Close(ctx); err != nil {
		return 0, err
	}
	return accuracy, f.StopWorker(ctx)
}

func evaluate(ctx context.Context, exe *nn.Executor, net model, test *dataset.Dataset) (accuracy float64, err error) {
	exe.ResetMetrics()
	for batch, err := range test.Batches(500) {
		if err != nil {
			return 0, err
		}
		out, err := exe.Eval(ctx, batch, net.acc)
		if err != nil {
			return 0, err
		}
		accuracy = float64(out[0].Data().([]float32)[0])
	}
	return accuracy, nil
}
