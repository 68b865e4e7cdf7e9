package main

import (
	"context"
	"math/rand/v2"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/examples/text/comments"
)

// longest is how many words of a paragraph are looked at.
const longest = 60

// split are paragraphs to train on, and a fifth of all to test on. Words that the first don't have are unknown.
func (c *config) split(context.Context) (train, test *dataset.Dataset, err error) {
	all, err := comments.All()
	if err != nil {
		return nil, nil, err
	}
	mixed := make([]comments.Comment, len(all))
	for i, at := range rand.New(rand.NewPCG(c.Seed, 0)).Perm(len(all)) {
		mixed[i] = all[at]
	}
	n := len(mixed) * 4 / 5
	ids := comments.Vocabulary(mixed[:n])
	return rows(mixed[:n], ids), rows(mixed[n:], ids), nil
}

// rows are paragraphs as the model is fed them:
//
//	words [N 60]  int64  the paragraph's, then Padding
//	class [N 1]   int64
func rows(of []comments.Comment, ids map[string]int64) *dataset.Dataset {
	return dataset.Generate(len(of), func(i int, row dataset.Row) error {
		for at, word := range of[i].Words[:min(len(of[i].Words), longest)] {
			row.Ints(0)[at] = comments.Unknown
			if id, known := ids[word]; known {
				row.Ints(0)[at] = id
			}
		}
		row.Ints(1)[0] = int64(of[i].Class)
		return nil
	}, dataset.Ints("words", longest), dataset.Ints("class", 1))
}
