package main

import (
	"flag"

	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/nn"
)

func main() { train.Main(program(flag.CommandLine)) }

func program(fs *flag.FlagSet) (*train.Options, func() (train.Job, error)) {
	c := newConfig(fs)
	return &c.Options, c.job
}

func (c *config) job() (train.Job, error) {
	if err := c.check(); err != nil {
		return train.Job{}, err
	}
	files, err := c.files()
	if err != nil {
		return train.Job{}, err
	}
	net := newModel(c, c.categories())
	j := train.Job{
		Options: c.Options,
		Loss:    net.loss,
		Rule:    c.rule,
		Metrics: []*nn.Node{net.score},
		Outputs: []*nn.Node{net.pred},
		Hooks:   []train.Hooks{{End: c.explained}},
	}
	if c.data == "" {
		j.Data = c.flights
	} else {
		j.Files = files
	}
	return j, nil
}
