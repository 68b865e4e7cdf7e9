package starter

import "math"

// findCategories makes categories too of numbers whose values tell more of the label than a parabola over them does:
// whole numbers that come again are themselves a category, others are put into buckets, of which missing ones have
// their own.
func (p *program) findCategories(columns []*column, labels []float64) {
	for i, c := range columns[:len(p.numbers)] {
		f, rest := p.numbers[i], c.straightened(labels)
		again := f.integers == f.n && len(f.values) > 2 && f.n >= 5*len(f.values)
		if again && c.measure(rest).pays() {
			p.categories = append(p.categories, f)
			continue
		}
		if c.bucket(); c.measure(rest).pays() {
			p.categories, p.crossed = append(p.categories, newField(p.category(c))), p.crossed+c.n
		}
	}
}

// straightened returns the labels less the parabola over the column's numbers, as the net sees these, that is closest
// to them.
func (c *column) straightened(labels []float64) []float64 {
	s, parabola := c.field.scale(), [4][]float64{3: append([]float64(nil), labels...)}
	x := c.numbers(func(text string) float64 {
		if number, is := decimal(text); is {
			return s.of(number)
		}
		return 0
	})
	for degree := range parabola {
		if degree < 3 {
			for _, x := range x {
				parabola[degree] = append(parabola[degree], math.Pow(x, float64(degree)))
			}
		}
		for _, other := range parabola[:degree] {
			subtract(parabola[degree], other)
		}
	}
	return parabola[3]
}

// subtract makes a vector orthogonal to another.
func subtract(from, v []float64) {
	product, square := 0.0, 1e-9*float64(len(v)) // of a vector of zeros, which is left alone
	for i, x := range v {
		product, square = product+x*from[i], square+x*x
	}
	for i, x := range v {
		from[i] -= product / square * x
	}
}
