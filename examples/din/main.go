package main

import (
	"context"
	"flag"
	"fmt"

	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/nn"
)

func main() { train.Main(program(flag.CommandLine)) }

// config is what can be chosen, beside what every job has.
type config struct {
	train.Options
	rows, dim int
}

func program(fs *flag.FlagSet) (*train.Options, func() (train.Job, error)) {
	c := &config{Options: train.Options{Mode: "async", Seed: 1, Batch: 256, Epochs: 3, Out: "output/din"}}
	fs.IntVar(&c.rows, "rows", 100_000, "so many are generated to train on, and a quarter as many to test on")
	fs.IntVar(&c.dim, "dim", 16, "width of the table")
	return &c.Options, c.job
}

func (c *config) job() (train.Job, error) {
	if c.rows < 4 || c.dim < 1 {
		return train.Job{}, fmt.Errorf("-rows=%d -dim=%d: rows count from 4, the width from 1", c.rows, c.dim)
	}
	net := newModel(c.Seed, c.dim)
	return train.Job{
		Options: c.Options,
		Loss:    nn.Mean(nn.BinaryCrossEntropy(net.pred, net.label)),
		Rule:    c.AdamOrSGD(4e-3, 1),
		Metrics: []*nn.Node{nn.AUC(net.pred, net.label).Named("AUC")},
		Outputs: []*nn.Node{net.pred},
		Data:    c.split,
		Hooks:   []train.Hooks{{End: c.compare}},
	}, net.pred.Err()
}

// compare says how good a model can be.
func (c *config) compare(ctx context.Context, r *train.Run) error {
	if !r.Leads() {
		return nil
	}
	_, test, err := c.split(ctx)
	if err != nil {
		return err
	}
	h := nn.NewHistogram()
	for batch, err := range test.Batches(1000) {
		if err != nil {
			return err
		}
		labels := batch["label"].Float32s()
		for i, p := range batch["chance"].Float32s() {
			h.Add(p, labels[i] > 0)
		}
	}
	fmt.Fprintf(r.Job.Stdout, "no model can do better than %.4f: that have the chances which these clicks were drawn "+
		"with\n", h.AUC())
	return nil
}
