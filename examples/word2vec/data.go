package main

import (
	"os"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/examples/word2vec/corpus"
)

// epochs are the pairs of each, which draws its own.
func (c *config) epochs(text *corpus.Corpus) (epochs []*dataset.Dataset, err error) {
	for i := range c.Epochs {
		c.pairs.Seed = c.Seed + uint64(i)
		pairs, err := text.Pairs(c.pairs)
		if err != nil {
			return nil, err
		}
		epochs = append(epochs, pairs)
	}
	return epochs, nil
}

func (c *config) text() (*corpus.Corpus, error) {
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
