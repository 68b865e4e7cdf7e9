package main

import (
	"context"
	"flag"
	"fmt"
	"io"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/examples/ctr_dnn/clicks"
	"github.com/gofleet/gofleet/examples/internal/job"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/nn"
)

type config struct {
	job.Flags
	data, pool string
	rows, dim  int
}

func parse(args []string) (config, error) {
	c := config{Flags: job.Flags{Mode: "async", Seed: 1, Batch: 256, Epochs: 3, Out: "output/ctr_dnn"}}
	fs := flag.NewFlagSet("ctr_dnn", flag.ContinueOnError)
	c.Register(fs)
	fs.StringVar(&c.data, "data", "", "file or directory of Criteo's slot text; empty generates clicks")
	fs.StringVar(&c.pool, "pool", string(nn.PoolMean), "how the rows of a slot become one: sum, mean or sqrtn")
	fs.IntVar(&c.rows, "rows", 200_000, "so many are generated")
	fs.IntVar(&c.dim, "dim", 9, "width of the table")
	if err := c.Parse(args); err != nil {
		return c, err
	}
	if c.rows < 2 || c.dim < 1 {
		return c, fmt.Errorf("-rows=%d -dim=%d: rows count from 2, the width from 1", c.rows, c.dim)
	}
	return c, newModel(c, inputsOf(c)).Loss.Err()
}

// run is the program of every role. It returns the AUC on the test rows.
func run(ctx context.Context, f *fleet.Fleet, c config, out io.Writer) (auc float64, err error) {
	var test *dataset.Dataset
	data := func(ctx context.Context) (train, _ *dataset.Dataset, err error) {
		train, test, err = load(ctx, c)
		return train, test, err
	}
	auc, err = newModel(c, inputsOf(c)).Train(ctx, f, c.Flags, c.Rule(3e-3, 1), data, out)
	if err != nil || !f.IsFirstWorker() || c.data != "" {
		return auc, err
	}
	best, err := bestAUC(test)
	if err == nil {
		fmt.Fprintf(out, "no model can do better than %.4f: that have the chances which these clicks were drawn with\n", best)
	}
	return auc, err
}

// bestAUC is the AUC of the chances themselves.
func bestAUC(test *dataset.Dataset) (float64, error) {
	h := nn.NewHistogram()
	for batch, err := range test.Batches(1000) {
		if err != nil {
			return 0, err
		}
		labels := batch[clicks.Label].Float32s()
		for i, p := range batch[clicks.Chance].Float32s() {
			h.Add(p, labels[i] > 0)
		}
	}
	return h.AUC(), nil
}
