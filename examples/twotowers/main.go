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
	c := &config{Options: train.Options{Mode: "async", Seed: 1, Batch: 256, Epochs: 4, Out: "output/twotowers"}}
	fs.IntVar(&c.rows, "rows", 200_000, "so many pairs are generated to train on, and a tenth as many to test on")
	fs.IntVar(&c.dim, "dim", 32, "numbers in a vector")
	return &c.Options, c.job
}

func (c *config) job() (train.Job, error) {
	if c.rows < 10 || c.dim < 1 {
		return train.Job{}, fmt.Errorf("-rows=%d -dim=%d: rows count from 10, the width from 1", c.rows, c.dim)
	}
	loss, towers := newModel(c.Seed, c.dim)
	return train.Job{
		Options: c.Options,
		Loss:    loss,
		Rule:    c.AdamOrSGD(2e-3, 1),
		Outputs: []*nn.Node{towers.Query},
		Data:    c.split,
		Hooks:   []train.Hooks{towers.Hooks("item"), {End: compare}},
	}, loss.Err()
}

// compare says how good a model can be.
func compare(_ context.Context, r *train.Run) error {
	if r.Leads() {
		fmt.Fprintf(r.Job.Stdout, "who knows the chances that these pairs were drawn with has %.4f\n",
			newWorld().best())
	}
	return nil
}
