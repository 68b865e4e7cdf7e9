package main

import (
	"context"
	"flag"
	"fmt"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/examples/wide_and_deep/flights"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/nn"
)

func main() { train.Main(program(flag.CommandLine)) }

func program(fs *flag.FlagSet) (*train.Options, func() (train.Job, error)) {
	o := &train.Options{Mode: "async", Seed: 1, Batch: 512, Epochs: 1, Out: "output/deepfm"}
	rows := fs.Int("rows", 0, "train and test on so many flights; 0 is all")
	dim := fs.Int("dim", 9, "width of the vectors")
	width := fs.Int("width", 400, "of the three deep layers")
	return o, func() (train.Job, error) {
		if *rows < 0 || *dim < 1 || *width < 1 {
			return train.Job{}, fmt.Errorf("-rows=%d -dim=%d -width=%d: dim and width count from 1, rows from 0", *rows,
				*dim, *width)
		}
		net := newModel(o.Seed, *dim, *width, *width, *width)
		return train.Job{
			Options: *o,
			Loss:    nn.Mean(nn.LogLoss(net.pred, net.label)),
			Rule:    o.AdamOrSGD(1e-3, 1),
			Metrics: []*nn.Node{nn.AUC(net.pred, net.label).Named("AUC")},
			Outputs: []*nn.Node{net.pred},
			Data: func(context.Context) (train, test *dataset.Dataset,
				err error) {
				return flights.Split(*rows, o.Seed)
			},
		}, nil
	}
}
