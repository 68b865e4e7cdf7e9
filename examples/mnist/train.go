package main

import (
	"context"
	"flag"
	"fmt"
	"io"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/examples/internal/job"
	"github.com/gofleet/gofleet/examples/mnist/digits"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/nn"
)

func parse(args []string) (job.Flags, error) {
	c := job.Flags{Seed: 1, Batch: 64, Epochs: 1}
	c.Register(flag.NewFlagSet("mnist", flag.ContinueOnError))
	return c, c.Parse(args)
}

// model is the perceptron of the original's quick start. acc is that of a batch, as there; all counts over batches.
type model struct {
	graph                      *nn.Graph
	prediction, cost, acc, all *nn.Node
}

func newModel(seed uint64) model {
	g := nn.NewGraph(seed)
	x, y := g.Input("img", 1, 28, 28), g.IDs("label", 1)
	h := nn.Linear(nn.Reshape(x, 784), 128, nn.LinearOptions{Act: nn.Tanh})
	h = nn.Linear(h, 128, nn.LinearOptions{Act: nn.Tanh})
	prediction := nn.Linear(h, 10, nn.LinearOptions{Act: nn.Softmax})
	return model{graph: g, prediction: prediction, cost: nn.Mean(nn.CrossEntropy(prediction, y)),
		acc: nn.BatchAccuracy(prediction, y).Named("acc"), all: nn.Accuracy(prediction, y)}
}

// run is the program of every role. It returns the accuracy on the digits held back.
func run(ctx context.Context, f *fleet.Fleet, c job.Flags, out io.Writer) (accuracy float64, err error) {
	train, test, err := digits.Load()
	if err != nil {
		return 0, err
	}
	s, err := c.Strategy()
	if err != nil {
		return 0, err
	}
	net := newModel(c.Seed)
	err = job.Training{Loss: net.cost, Rule: c.Rule(1e-3, 0.1), Strategy: s, Load: c.Load}.Play(ctx, f, func(ctx context.Context) error {
		rows := func(int) *dataset.Dataset { return train.DropLast() }
		if _, err := job.Epochs(ctx, f, net.graph, c, rows, out, net.acc); err != nil {
			return err
		}
		if accuracy, err = job.Evaluate(ctx, f, net.all, test); err != nil {
			return err
		}
		if leads, err := job.Leads(ctx, f); err != nil || !leads {
			return err
		}
		fmt.Fprintf(out, "test accuracy %.4f\n", accuracy)
		return job.Save(ctx, f, c.Out, out, net.prediction)
	})
	return accuracy, err
}
