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
	c := &config{Options: train.Options{Mode: "async", Seed: 1, Batch: 128, Epochs: 4, Out: "output/sasrec"}}
	fs.IntVar(&c.rows, "rows", 20_000, "so many sequences are generated to train on, and a tenth as many to test on")
	fs.IntVar(&c.dim, "dim", 48, "width of the table")
	return &c.Options, c.job
}

func (c *config) job() (train.Job, error) {
	if c.rows < 10 || c.dim < 2 || c.dim%2 != 0 {
		return train.Job{}, fmt.Errorf("-rows=%d -dim=%d: rows count from 10, and the width is even", c.rows, c.dim)
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
		fmt.Fprintf(r.Job.Stdout, "who knows how the next item is drawn has %.4f\n", best())
	}
	return nil
}
