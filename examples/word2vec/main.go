package main

import (
	"context"
	"flag"
	"fmt"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/examples/word2vec/corpus"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
)

func main() { train.Main(program(flag.CommandLine)) }

// config is what can be chosen, beside what every job has.
type config struct {
	train.Options
	data           string
	sentences, dim int
	pairs          corpus.Options
}

func program(fs *flag.FlagSet) (*train.Options, func() (train.Job, error)) {
	c := &config{Options: train.Options{Mode: "geo", Seed: 1, Batch: 512, Epochs: 3, Out: "output/word2vec"}}
	fs.StringVar(&c.data, "data", "", "file of text, a sentence a line; empty generates one")
	fs.IntVar(&c.sentences, "sentences", 30_000, "so many are generated")
	fs.IntVar(&c.dim, "dim", 32, "numbers in a word's vector")
	fs.IntVar(&c.pairs.Window, "window", 4, "the farthest distance of two words that are near")
	fs.IntVar(&c.pairs.Negatives, "negatives", 5, "words drawn for each pair")
	fs.Float64Var(&c.pairs.Subsample, "subsample", 1e-3, "frequency above which words are left out at random; 0 "+
		"leaves out none")
	return &c.Options, c.job
}

func (c *config) job() (train.Job, error) {
	if c.sentences < 1 || c.dim < 1 {
		return train.Job{}, fmt.Errorf("-sentences=%d -dim=%d: both count from 1", c.sentences, c.dim)
	}
	text, err := c.text()
	if err != nil {
		return train.Job{}, err
	}
	net := newModel(c.Seed, len(text.Words), c.dim, 1+c.pairs.Negatives)
	epochs, err := c.epochs(text)
	return train.Job{
		Options: c.Options,
		Loss:    net.loss,
		Rule:    optimizer.SGD{LR: c.Rate(10)},
		Outputs: []*nn.Node{net.vector},
		Data:    func(context.Context) (rows, test *dataset.Dataset, err error) { return epochs[0], nil, nil },
		Rows: func(epoch int, _ *dataset.Dataset) *dataset.Dataset {
			return epochs[epoch].Shuffle(c.Seed).Epoch(epoch)
		},
		Hooks: []train.Hooks{hooks(net, text.Words)},
	}, err
}
