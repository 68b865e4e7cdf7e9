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
	dim  int
	drop float64
}

func program(fs *flag.FlagSet) (*train.Options, func() (train.Job, error)) {
	c := &config{Options: train.Options{Mode: "async", Seed: 1, Batch: 64, Epochs: 6, Out: "output/text"}}
	fs.IntVar(&c.dim, "dim", 64, "numbers in a word's vector")
	fs.Float64Var(&c.drop, "drop", 0.5, "the share of phrases that a training step does without")
	return &c.Options, c.job
}

func (c *config) job() (train.Job, error) {
	if c.dim < 1 {
		return train.Job{}, fmt.Errorf("-dim=%d: it counts from 1", c.dim)
	}
	logits, class := newModel(c.Seed, c.dim, float32(c.drop))
	return train.Job{
		Options: c.Options,
		Loss:    nn.Mean(nn.SoftmaxWithCrossEntropy(logits, class)),
		Rule:    c.AdamOrSGD(1e-3, 0.3),
		Metrics: []*nn.Node{nn.Accuracy(logits, class).Named("accuracy")},
		Outputs: []*nn.Node{nn.Softmax(logits).Named("chances")},
		Data:    c.split,
	}, logits.Err()
}
