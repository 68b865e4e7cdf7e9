package main

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/gofleet/gofleet/dataset"
)

// The rows are made up, so that it is known how well they can be foretold at all. Each value of a field pulls both
// tasks, clicks and likes, by numbers of its own, and pairs of values more or less; a part of what makes a click makes
// a like too.
const (
	fields = 8
	values = 200 // of a field
	height = fields * values
)

// tasks are what is foretold of each row.
var tasks = []string{"click", "like"}

// generate makes n rows, a function of the seed:
//
//	fields [N 8]  int64    a value of each field
//	label  [N 2]  float32  1 if it was clicked, and if it was liked
//	chance [N 2]  float32  the probabilities that label was drawn with
func generate(seed uint64, n int) *dataset.Dataset {
	pulls := make([][2]float64, height)
	r := rand.New(rand.NewPCG(0, 1)) // the same world for all seeds
	for i := range pulls {
		pulls[i] = [2]float64{r.NormFloat64() / math.Sqrt2, r.NormFloat64() / math.Sqrt2}
	}
	fill := func(i int, row dataset.Row) error {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		var halves [2][2]float64 // what the first fields pull each task by, and what the others do
		for f := range row.Ints(0) {
			id := f*values + min(values, int(math.Pow(values+1, r.Float64()))) - 1 // few values are frequent
			row.Ints(0)[f] = int64(id)
			for task, pull := range pulls[id] {
				halves[task][f*2/fields] += pull
			}
		}
		a, b := halves[0], halves[1]
		click := a[0] + a[1] + 0.5*a[0]*a[1] - 0.5
		like := 0.5*click + b[0] + b[1] - 0.5*b[0]*b[1] - 1
		for task, x := range []float64{click, like} {
			p := 1 / (1 + math.Exp(-x))
			row.Floats(2)[task] = float32(p)
			if r.Float64() < p {
				row.Floats(1)[task] = 1
			}
		}
		return nil
	}
	return dataset.Generate(n, fill, dataset.Ints("fields", fields), dataset.Floats("label", len(tasks)),
		dataset.Floats("chance", len(tasks)))
}

// split are rows to train on, and a quarter as many to test on.
func (c *config) split(ctx context.Context) (train, test *dataset.Dataset, err error) {
	rows, err := generate(c.Seed, c.rows+c.rows/4).Load(ctx)
	if err != nil {
		return nil, nil, err
	}
	return rows.Take(c.rows), rows.Skip(c.rows), nil
}
