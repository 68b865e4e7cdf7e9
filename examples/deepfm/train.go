package main

import (
	"context"
	"flag"
	"fmt"
	"io"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/examples/internal/job"
	"github.com/gofleet/gofleet/examples/wide_and_deep/flights"
	"github.com/gofleet/gofleet/fleet"
)

type config struct {
	job.Flags
	rows, dim int
	layers    []int
}

func parse(args []string) (config, error) {
	c := config{Flags: job.Flags{Mode: "async", Seed: 1, Batch: 512, Epochs: 1, Out: "output/deepfm"}}
	fs := flag.NewFlagSet("deepfm", flag.ContinueOnError)
	c.Register(fs)
	fs.IntVar(&c.rows, "rows", 0, "train and test on so many flights; 0 is all")
	fs.IntVar(&c.dim, "dim", 9, "width of the vectors")
	width := fs.Int("width", 400, "of the three deep layers")
	if err := c.Parse(args); err != nil {
		return c, err
	}
	if c.rows < 0 || c.dim < 1 || *width < 1 {
		return c, fmt.Errorf("-rows=%d -dim=%d -width=%d: dim and width count from 1, rows from 0", c.rows, c.dim, *width)
	}
	c.layers = []int{*width, *width, *width}
	return c, nil
}

// run is the program of every role. It returns the AUC on the test rows.
func run(ctx context.Context, f *fleet.Fleet, c config, out io.Writer) (auc float64, err error) {
	load := func(context.Context) (train, test *dataset.Dataset, err error) {
		data, err := flights.Load()
		if err != nil {
			return nil, nil, err
		}
		rows := flights.Dataset(data)
		if c.rows > 0 {
			rows = rows.Shuffle(c.Seed).Take(c.rows)
		}
		return job.Split(rows, c.Seed)
	}
	return newModel(c).Train(ctx, f, c.Flags, c.Rule(1e-3, 1), load, out)
}
