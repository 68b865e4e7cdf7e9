package main

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/nn"
)

// The pairs are made up, so that it is known how well items can be found at all. Items have categories, and few are
// popular; a user likes a few categories, more or less, of which his features say some.
const (
	users      = 2000
	regions    = 20
	items      = 1000
	categories = 40
)

// world is what the pairs are drawn from, the same for all seeds.
type world struct {
	popular []float64             // of a category's items, the shares of all
	tastes  [][categories]float64 // of each user, the shares of all categories
}

func newWorld() *world {
	w := &world{popular: make([]float64, items/categories), tastes: make([][categories]float64, users)}
	for i := range w.popular {
		w.popular[i] = 1 / float64(i+1)
	}
	scale(w.popular)
	for user := range w.tastes {
		r := rand.New(rand.NewPCG(uint64(user), 1))
		taste := &w.tastes[user]
		for c := range taste {
			taste[c] = 0.3 / float64(c+1) // some categories are popular with all
		}
		taste[regionOf(user)*2%categories] += 0.5
		for range 2 {
			taste[r.IntN(categories)] += 0.2 + r.Float64()
		}
		scale(taste[:])
	}
	return w
}

func scale(shares []float64) {
	sum := 0.0
	for _, s := range shares {
		sum += s
	}
	for i := range shares {
		shares[i] /= sum
	}
}

func regionOf(user int) int { return user % regions }

// categoryOf is that of an item; items count from 1.
func categoryOf(item int) int { return (item - 1) % categories }

// chance is the probability that a pair with the user has the item.
func (w *world) chance(user, item int) float64 {
	return w.tastes[user][categoryOf(item)] * w.popular[(item-1)/categories]
}

// generate makes n pairs of a user and an item that he liked, a function of the seed:
//
//	user     [N 1]  int64
//	region   [N 1]  int64  the user's
//	item     [N 1]  int64
//	category [N 1]  int64  the item's
func (w *world) generate(seed uint64, n int) *dataset.Dataset {
	fill := func(i int, row dataset.Row) error {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		user := r.IntN(users)
		item := 1 + draw(r, w.tastes[user][:]) + categories*draw(r, w.popular)
		for column, id := range []int{user, regionOf(user), item, categoryOf(item)} {
			row.Ints(column)[0] = int64(id)
		}
		return nil
	}
	return dataset.Generate(n, fill, dataset.Ints("user", 1), dataset.Ints("region", 1), dataset.Ints("item", 1),
		dataset.Ints("category", 1))
}

func draw(r *rand.Rand, shares []float64) int {
	x := r.Float64()
	for i, s := range shares {
		if x -= s; x < 0 {
			return i
		}
	}
	return len(shares) - 1
}

// best is the recall at ten of who knows the chances.
func (w *world) best() (recall float64) {
	for user := range users {
		chances := make([]float64, items)
		for i := range chances {
			chances[i] = w.chance(user, i+1)
		}
		slices.SortFunc(chances, func(a, b float64) int { return cmp.Compare(b, a) })
		for _, p := range chances[:10] {
			recall += p / users
		}
	}
	return recall
}

// split are pairs to train on, and a tenth as many to test on, with logq [N 1], the logarithm of how often each item is
// in a batch, as it was estimated so far.
func (c *config) split(ctx context.Context) (train, test *dataset.Dataset, err error) {
	rows, err := newWorld().generate(c.Seed, c.rows+c.rows/10).Load(ctx)
	if err != nil {
		return nil, nil, err
	}
	train, err = withLogQ(rows.Take(c.rows))
	if err != nil {
		return nil, nil, err
	}
	test, err = withLogQ(rows.Skip(c.rows))
	return train, test, err
}

func withLogQ(rows *dataset.Dataset) (*dataset.Dataset, error) {
	frequencies, err := nn.NewFrequencies(10*items, 0.02)
	if err != nil {
		return nil, err
	}
	return rows.Map(func(b dataset.Batch) error {
		ids := b["item"].Int64s()
		logq := make([]float32, len(ids))
		frequencies.LogQ(ids, logq)
		b["logq"] = nn.Floats(logq, 1)
		return nil
	}), nil
}

// catalog are all items, from the first on.
func catalog() *dataset.Dataset {
	return dataset.Generate(items, func(i int, row dataset.Row) error {
		row.Ints(0)[0], row.Ints(1)[0] = int64(i+1), int64(categoryOf(i+1))
		return nil
	}, dataset.Ints("item", 1), dataset.Ints("category", 1))
}
