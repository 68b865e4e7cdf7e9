package nn

import (
	"fmt"

	"github.com/gofleet/gofleet/internal/kernels"
)

// The products of an attention's heads: each head has some columns of query, key and value, side by side with those of
// the other heads, and reads them in place.

// heads is the number of parts into which columns are divided.
type heads struct {
	Heads int `json:"heads"`
}

func (heads) byExample()    {}
func (heads) overwritable() {}

// fit returns an error for rows whose columns can't be divided.
func (o heads) fit(rows ...*Node) error {
	for _, x := range rows {
		if len(x.shape) != 3 || x.shape[0] != batch || o.Heads < 1 || x.shape[2]%o.Heads != 0 ||
			x.shape[2] != rows[0].shape[2] {
			return fmt.Errorf("%v have no columns for %d heads: shapes [N L D] are needed", rows, o.Heads)
		}
	}
	return nil
}

// rows returns the columns of a head in numbers of rows, one matrix an example.
func (o heads) rows(x *cell, numbers []float32, head int) kernels.View {
	places, d := x.shape[1], x.shape[2]
	return kernels.View{Data: numbers[head*d/o.Heads:], Row: d, Col: 1, Step: places * d}
}

// scores returns a head's part of numbers of scores, one matrix an example.
func (o heads) scores(s *cell, numbers []float32, head int) kernels.View {
	queries, places := s.shape[2], s.shape[3]
	return kernels.View{Data: numbers[head*queries*places:], Row: places, Col: 1, Step: o.Heads * queries * places}
}

// headScores computes the products of all rows of a query, [N Q D], and all of a key, [N L D], in each head: of shape
// [N heads Q L].
type headScores struct{ heads }

func (headScores) kind() string { return "head_scores" }

func (o headScores) infer(in []*Node) ([]int, error) {
	if err := o.fit(in...); err != nil {
		return nil, err
	}
	return []int{batch, o.Heads, in[0].shape[1], in[1].shape[1]}, wantFloat(in)
}

func (o headScores) forward(c *cell) {
	query, key := c.in[0], c.in[1]
	o.each(c, query, func(h, n, q, l, d int) {
		kernels.GemmViews(n, q, l, d, o.rows(query, query.value, h), o.rows(key, key.value, h).Turned(),
			o.scores(c, c.value, h), false)
	})
}

func (o headScores) backward(c *cell) {
	query, key := c.in[0], c.in[1]
	if query.wanted {
		add := query.adds()
		o.each(c, query, func(h, n, q, l, d int) {
			kernels.GemmViews(n, q, d, l, o.scores(c, c.grad, h), o.rows(key, key.value, h),
				o.rows(query, query.grad, h), add)
		})
	}
	if key.wanted {
		add := key.adds()
		o.each(c, query, func(h, n, q, l, d int) {
			kernels.GemmViews(n, l, d, q, o.scores(c, c.grad, h).Turned(), o.rows(query, query.value, h),
				o.rows(key, key.grad, h), add)
		})
	}
}

// each calls f for every head, with the sizes of its products: examples, queries, places and columns.
func (o heads) each(scores, rows *cell, f func(h, n, q, l, d int)) {
	for h := range o.Heads {
		f(h, scores.shape[0], scores.shape[2], scores.shape[3], rows.shape[2]/o.Heads)
	}
}

// headMix computes the sum of a value's rows, [N L D], times weights, [N heads Q L], in each head: of shape [N Q D].
type headMix struct{ heads }

func (headMix) kind() string { return "head_mix" }

func (o headMix) infer(in []*Node) ([]int, error) {
	w, value := in[0].shape, in[1]
	if err := o.fit(value); err != nil {
		return nil, err
	}
	if len(w) != 4 || w[0] != batch || w[1] != o.Heads || w[3] != value.shape[1] {
		return nil, fmt.Errorf("weights %v don't fit %v: shape [N %d Q L] is needed", in[0], value, o.Heads)
	}
	return []int{batch, w[2], value.shape[2]}, wantFloat(in)
}

func (o headMix) forward(c *cell) {
	weights, value := c.in[0], c.in[1]
	o.each(weights, value, func(h, n, q, l, d int) {
		kernels.GemmViews(n, q, d, l, o.scores(weights, weights.value, h), o.rows(value, value.value, h),
			o.rows(c, c.value, h), false)
	})
}

func (o headMix) backward(c *cell) {
	weights, value := c.in[0], c.in[1]
	if weights.wanted {
		add := weights.adds()
		o.each(weights, value, func(h, n, q, l, d int) {
			kernels.GemmViews(n, q, l, d, o.rows(c, c.grad, h), o.rows(value, value.value, h).Turned(),
				o.scores(weights, weights.grad, h), add)
		})
	}
	if value.wanted {
		add := value.adds()
		o.each(weights, value, func(h, n, q, l, d int) {
			kernels.GemmViews(n, l, d, q, o.scores(weights, weights.value, h).Turned(), o.rows(c, c.grad, h),
				o.rows(value, value.grad, h), add)
		})
	}
}
