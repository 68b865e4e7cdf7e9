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
	c := &config{Options: train.Options{Mode: "async", Seed: 1, Batch: 256, Epochs: 2, Out: "output/mmoe"}}
	fs.IntVar(&c.rows, "rows", 200_000, "so many are generated to train on, and a quarter as many to test on")
	fs.IntVar(&c.dim, "dim", 8, "width of the table")
	return &c.Options, c.job
}

func (c *config) job() (train.Job, error) {
	if c.rows < 4 || c.dim < 1 {
		return train.Job{}, fmt.Errorf("-rows=%d -dim=%d: rows count from 4, the width from 1", c.rows, c.dim)
	}
	net := newModel(c.Seed, c.dim)
	return train.Job{
		Options: c.Options,
		Loss:    net.loss,
		Rule:    c.AdamOrSGD(2e-3, 1),
		Metrics: net.metrics,
		Outputs: net.preds,
		Data:    c.split,
		Hooks:   []train.Hooks{{End: c.compare}},
	}, net.loss.Err()
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
	of := []*nn.Histogram{nn.NewHistogram(), nn.NewHistogram()}
	for batch, err := range test.Batches(1000) {
		if err != nil {
			return err
		}
		labels := batch["label"].Float32s()
		for i, p := range batch["chance"].Float32s() {
			of[i%len(of)].Add(p, labels[i] > 0)
		}
	}
	fmt.Fprintf(r.Job.Stdout, "no model can do better than %.4f and %.4f: that have the chances which these labels "+
		"were drawn with\n", of[0].AUC(), of[1].AUC())
	return nil
}
