package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/examples/internal/job"
	"github.com/gofleet/gofleet/examples/word2vec/corpus"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/optimizer"
)

type config struct {
	job.Flags
	data           string
	sentences, dim int
	pairs          corpus.Options
}

func parse(args []string) (config, error) {
	c := config{Flags: job.Flags{Mode: "geo", Seed: 1, Batch: 512, Epochs: 3, LR: 10, Out: "output/word2vec"}}
	fs := flag.NewFlagSet("word2vec", flag.ContinueOnError)
	c.Register(fs)
	fs.StringVar(&c.data, "data", "", "file of text, a sentence a line; empty generates one")
	fs.IntVar(&c.sentences, "sentences", 30_000, "so many are generated")
	fs.IntVar(&c.dim, "dim", 32, "numbers in a word's vector")
	fs.IntVar(&c.pairs.Window, "window", 4, "the farthest distance of two words that are near")
	fs.IntVar(&c.pairs.Negatives, "negatives", 5, "words drawn for each pair")
	fs.Float64Var(&c.pairs.Subsample, "subsample", 1e-3, "frequency above which words are left out at random; 0 leaves out none")
	if err := c.Parse(args); err != nil {
		return c, err
	}
	if c.sentences < 1 || c.dim < 1 {
		return c, fmt.Errorf("-sentences=%d -dim=%d: both count from 1", c.sentences, c.dim)
	}
	return c, nil
}

func (c config) text() (*corpus.Corpus, error) {
	if c.data == "" {
		return corpus.Generate(c.Seed, c.sentences), nil
	}
	file, err := os.Open(c.data)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return corpus.Read(file, 5)
}

// run is the program of every role. Worker 0 returns the share of words whose nearest word has the same topic.
func run(ctx context.Context, f *fleet.Fleet, c config, out io.Writer) (share float64, err error) {
	text, err := c.text()
	if err != nil {
		return 0, err
	}
	net := newModel(c.Seed, len(text.Words), c.dim, 1+c.pairs.Negatives)
	s, err := c.Strategy()
	if err != nil {
		return 0, err
	}
	err = job.Training{Loss: net.loss, Rule: optimizer.SGD{LR: c.LR}, Strategy: s, Load: c.Load}.Play(ctx, f,
		func(ctx context.Context) error {
			share, err = work(ctx, f, c, net, text, out)
			return err
		})
	return share, err
}

// work trains, and has one worker look at the vectors when all have finished.
func work(ctx context.Context, f *fleet.Fleet, c config, net model, text *corpus.Corpus, out io.Writer) (share float64, err error) {
	epochs := make([]*dataset.Dataset, c.Epochs) // each draws its own
	for i := range epochs {
		c.pairs.Seed = c.Seed + uint64(i)
		if epochs[i], err = text.Pairs(c.pairs); err != nil {
			return 0, err
		}
	}
	rows := func(epoch int) *dataset.Dataset { return epochs[epoch] }
	if _, err := job.Epochs(ctx, f, net.graph, c.Flags, rows, out); err != nil {
		return 0, err
	}
	if leads, err := job.Leads(ctx, f); err != nil || !leads {
		return 0, err
	}
	n, err := vectors(ctx, net, text.Words)
	if err != nil {
		return 0, err
	}
	share = n.report(out)
	return share, job.Save(ctx, f, c.Out, out, net.vector)
}
