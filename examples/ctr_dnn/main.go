package main

import (
	"flag"
	"fmt"

	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/nn"
)

func main() { train.Main(program(flag.CommandLine)) }

// config is what can be chosen, beside what every job has.
type config struct {
	train.Options
	data, pool string
	rows, dim  int
}

func program(fs *flag.FlagSet) (*train.Options, func() (train.Job, error)) {
	c := &config{Options: train.Options{Mode: "async", Seed: 1, Batch: 256, Epochs: 3, Out: "output/ctr_dnn"}}
	fs.StringVar(&c.data, "data", "", "file or directory of Criteo's slot text; empty generates clicks")
	fs.StringVar(&c.pool, "pool", string(nn.PoolMean), "how the rows of a slot become one: sum, mean or sqrtn")
	fs.IntVar(&c.rows, "rows", 200_000, "so many are generated")
	fs.IntVar(&c.dim, "dim", 9, "width of the table")
	return &c.Options, c.job
}

func (c *config) job() (train.Job, error) {
	if c.rows < 2 || c.dim < 1 {
		return train.Job{}, fmt.Errorf("-rows=%d -dim=%d: rows count from 2, the width from 1", c.rows, c.dim)
	}
	in := inputsOf(c)
	net := newModel(c, in)
	j := train.Job{
		Options: c.Options,
		Loss:    nn.Mean(nn.LogLoss(net.pred, net.label)),
		Rule:    c.AdamOrSGD(3e-3, 1),
		Metrics: []*nn.Node{nn.AUC(net.pred, net.label).Named("AUC")},
		Outputs: []*nn.Node{net.pred},
	}
	if c.data == "" {
		j.Data, j.Hooks = c.generated, []train.Hooks{{End: c.compare}}
	} else {
		j.Files = train.Files{Format: in.format(), Paths: []string{c.data}, Seed: c.Seed}
	}
	return j, net.pred.Err()
}
