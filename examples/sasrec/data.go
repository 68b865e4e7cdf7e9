package main

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"

	"github.com/gofleet/gofleet/dataset"
)

// The sequences are made up, so that it is known how well the next item can be foretold at all. Items have categories.
// After an item comes mostly one of the category that follows its own, or one of the category that came two before, or
// any; few items of a category are popular.
const (
	items      = 500 // from 1 on; 0 stands for nothing
	categories = 50
	longest    = 20 // items of a sequence that are looked at
)

// What comes next, of the category that follows and of that two before.
const (
	follows = 0.5
	returns = 0.3
)

// following is, for each category, the one that follows it.
var following = rand.New(rand.NewPCG(0, 1)).Perm(categories)

// popular are the shares of a category's items.
var popular = shares()

func shares() (p [items / categories]float64) {
	sum := 0.0
	for i := range p {
		p[i] = 1 / float64(i+1)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

func categoryOf(item int64) int { return int(item-1) % categories }

// generate makes n sequences, a function of the seed:
//
//	seen  [N 20]  int64  5 to 20 items, in order, then zeros
//	next  [N 20]  int64  the item after each of them, then zeros
//	drawn [N 20]  int64  an item drawn at random for each, then zeros
//	last  [N 1]   int64  the place of the last of them
//	item  [N 1]   int64  the item after that
func generate(seed uint64, n int) *dataset.Dataset {
	fill := func(i int, row dataset.Row) error {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		n := 5 + r.IntN(longest-4)
		item := int64(1 + r.IntN(items))
		before := categoryOf(item)
		for at := range n {
			row.Ints(0)[at] = item
			before, item = categoryOf(item), after(before, item, r)
			row.Ints(1)[at], row.Ints(2)[at] = item, int64(1+r.IntN(items))
		}
		row.Ints(3)[0], row.Ints(4)[0] = int64(n-1), item
		return nil
	}
	return dataset.Generate(n, fill, dataset.Ints("seen", longest), dataset.Ints("next", longest),
		dataset.Ints("drawn", longest), dataset.Ints("last", 1), dataset.Ints("item", 1))
}

// after draws the item behind one, of which the one before has a category.
func after(before int, item int64, r *rand.Rand) int64 {
	category := r.IntN(categories)
	switch x := r.Float64(); {
	case x < follows:
		category = following[categoryOf(item)]
	case x < follows+returns:
		category = before
	}
	x, rank := r.Float64(), 0
	for x -= popular[0]; x >= 0 && rank < len(popular)-1; x -= popular[rank] {
		rank++
	}
	return int64(1 + category + categories*rank)
}

// best is the recall at ten of who knows how the next item is drawn.
func best() float64 {
	var chances []float64
	for _, share := range popular {
		for category := range categories {
			p := (1 - follows - returns) / categories
			switch category {
			case 0:
				p += follows
			case 1:
				p += returns
			}
			chances = append(chances, p*share)
		}
	}
	slices.SortFunc(chances, func(a, b float64) int { return cmp.Compare(b, a) })
	sum := 0.0
	for _, p := range chances[:10] {
		sum += p
	}
	return sum
}

// split are sequences to train on, and a tenth as many to test on.
func (c *config) split(ctx context.Context) (train, test *dataset.Dataset, err error) {
	rows, err := generate(c.Seed, c.rows+c.rows/10).Load(ctx)
	if err != nil {
		return nil, nil, err
	}
	return rows.Take(c.rows), rows.Skip(c.rows), nil
}

// catalog are all items, from the first on.
func catalog() *dataset.Dataset {
	return dataset.Generate(items, func(i int, row dataset.Row) error {
		row.Ints(0)[0] = int64(i + 1)
		return nil
	}, dataset.Ints("item", 1))
}
