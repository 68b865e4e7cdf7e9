package main

import (
	"context"
	"flag"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/examples/mnist/digits"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/nn"
)

func main() { train.Main(program(flag.CommandLine)) }

func program(*flag.FlagSet) (*train.Options, func() (train.Job, error)) {
	o := &train.Options{Seed: 1, Batch: 64, Epochs: 1}
	return o, func() (train.Job, error) { return newJob(*o), nil }
}

// newJob is the perceptron of the original's quick start. The progress shows the accuracy of a batch, as there.
func newJob(o train.Options) train.Job {
	g := nn.NewGraph(o.Seed)
	x, y := g.Input("img", 1, 28, 28), g.IDs("label", 1)
	h := nn.Linear(nn.Reshape(x, 784), 128, nn.LinearOptions{Act: nn.Tanh})
	h = nn.Linear(h, 128, nn.LinearOptions{Act: nn.Tanh})
	prediction := nn.Linear(h, 10, nn.LinearOptions{Act: nn.Softmax})
	return train.Job{
		Options: o,
		Loss:    nn.Mean(nn.CrossEntropy(prediction, y)),
		Rule:    o.AdamOrSGD(1e-3, 0.1),
		Metrics: []*nn.Node{nn.Accuracy(prediction, y)},
		Show:    []*nn.Node{nn.BatchAccuracy(prediction, y).Named("acc")},
		Outputs: []*nn.Node{prediction},
		Data:    data,
	}
}

func data(context.Context) (train, test *dataset.Dataset, err error) {
	if train, test, err = digits.Load(); err != nil {
		return nil, nil, err
	}
	return train.DropLast(), test, nil
}
