package main

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/gofleet/gofleet/dataset"
)

// The clicks are made up, so that it is known how well they can be foretold at all. Every item has one of topics, which
// no column tells, and pleases more or less. A user has interests, the topics of what he clicked before; he clicks an
// item the more likely the more items of its topic he has clicked.
const (
	items     = 200 // ids from 1 on; 0 stands for nothing
	topics    = 10
	interests = 2  // topics of a user
	longest   = 20 // most items that a user clicked before
)

// generate makes n rows, a function of the seed:
//
//	history [N 20]  int64    items clicked before, then zeros
//	item    [N 1]   int64    the item that is shown
//	label   [N 1]   float32  1 if it was clicked
//	chance  [N 1]   float32  the probability that label was drawn with
func generate(seed uint64, n int) *dataset.Dataset {
	fill := func(i int, row dataset.Row) error {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		var likes [interests]int
		for i := range likes {
			likes[i] = r.IntN(topics)
		}
		history, item := row.Ints(0), 1+r.IntN(items)
		if r.IntN(2) == 0 {
			item = itemOf(likes[r.IntN(interests)], r)
		}
		same := 0
		for i := range r.IntN(longest + 1) {
			history[i] = int64(itemOf(likes[r.IntN(interests)], r))
			if topicOf(int(history[i])) == topicOf(item) {
				same++
			}
		}
		row.Ints(1)[0] = int64(item)
		p := chance(item, same)
		row.Floats(3)[0] = float32(p)
		if r.Float64() < p {
			row.Floats(2)[0] = 1
		}
		return nil
	}
	return dataset.Generate(n, fill, dataset.Ints("history", longest), dataset.Ints("item", 1),
		dataset.Floats("label", 1),
		dataset.Floats("chance", 1))
}

// split are rows to train on, and a quarter as many to test on.
func (c *config) split(ctx context.Context) (train, test *dataset.Dataset, err error) {
	rows, err := generate(c.Seed, c.rows+c.rows/4).Load(ctx)
	if err != nil {
		return nil, nil, err
	}
	return rows.Take(c.rows), rows.Skip(c.rows), nil
}

func topicOf(item int) int { return item % topics }

func itemOf(topic int, r *rand.Rand) int {
	item := r.IntN(items/topics)*topics + topic
	if item == 0 {
		return items
	}
	return item
}

// chance is the probability of a click on an item by a user who has clicked as many of the same topic.
func chance(item, same int) float64 {
	charm := rand.New(rand.NewPCG(uint64(item), 1)).NormFloat64()
	return 1 / (1 + math.Exp(2-0.5*charm-1.5*math.Log1p(float64(same))))
}
