package update

import (
	"fmt"

	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/rules"
)

// A rule that clips by norm needs the norm of the whole gradient, of which each server has a part. The sums of squares
// are exact, so that every server scales by the same factors, whatever part it holds and in whatever order sums arrive.

// clip limits the update's gradient by the rule's clip, in the scratch's own memory.
func (c *scratch) clip(dense []float32) ([]float32, error) {
	if c.t.o.Clip == nil {
		return dense, nil
	}
	all := c.squares(dense)
	if c.u.Sum != nil {
		var err error
		if all, err = c.u.Sum(all); err != nil {
			return nil, fmt.Errorf("clipping: %w", err)
		}
	}
	return c.scale(c.t.factors(all), dense), nil
}

// squares are the sums of squares of this part's gradient, by param.
func (c *scratch) squares(dense []float32) []gradient.Squares {
	own := make([]gradient.Squares, len(c.t.layout.Params))
	for _, b := range c.t.part.Blocks {
		if !c.t.exempt(b.Param) {
			own[b.Param].Add(dense[b.At:][:b.Size])
		}
	}
	for _, p := range c.portions[:c.inUse] {
		if !c.t.exempt(p.param) {
			own[p.param].Add(p.rows.G)
		}
	}
	return own
}

// exempt reports whether the clip skips a param.
func (t *Tables) exempt(param int) bool { return rules.Spares(t.o.Clip, t.layout.Params[param]) }

// factors are the factors of each variable's gradient, for sums of squares of the whole gradient.
func (t *Tables) factors(sums []gradient.Squares) []float32 {
	squares, factors := make([]float64, len(sums)), make([]float32, len(sums))
	for i := range sums {
		squares[i] = sums[i].Float64()
	}
	t.o.Clip.Factors(factors, squares)
	for i := range factors {
		if t.exempt(i) {
			factors[i] = 1
		}
	}
	return factors
}

// scale multiplies each variable's gradient by its factor.
func (c *scratch) scale(factors []float32, dense []float32) []float32 {
	if c.u.Dense == nil {
		c.dense = append(c.dense[:0], dense...) // dense may be a worker's request, or c.dense itself
		dense = c.dense
	}
	for _, b := range c.t.part.Blocks {
		multiply(dense[b.At:][:b.Size], factors[b.Param])
	}
	for _, p := range c.portions[:c.inUse] {
		if f := factors[p.param]; f != 1 {
			p.scaled = append(p.scaled[:0], p.rows.G...)
			multiply(p.scaled, f)
			p.rows.G = p.scaled
		}
	}
	return dense
}

func multiply(g []float32, f float32) {
	if f == 1 {
		return
	}
	for i := range g {
		g[i] *= f
	}
}
