package nn

import "github.com/gofleet/gofleet/internal/kernels"

// Multiply is a·b, element by element, of shapes that are repeated as [Add] does.
func Multiply(a, b *Node) *Node { return apply("", multiply{}, a, b) }

// Divide is a/b, element by element, of shapes that are repeated as [Add] does.
func Divide(a, b *Node) *Node { return apply("", divide{}, a, b) }

// Subtract is a − b, element by element, of shapes that are repeated as [Add] does.
func Subtract(a, b *Node) *Node { return apply("", subtract{}, a, b) }

// Scale is scale·x + bias, element by element, with numbers that are not trained.
func Scale(x *Node, scale, bias float32) *Node { return apply("", scaled{Scale: scale, Bias: bias}, x) }

type multiply struct{ pairwise }

func (multiply) kind() string { return "multiply" }

func (multiply) forward(c *cell) {
	a, b := c.in[0].value, c.in[1].value
	if side, width, is := c.byRow(); is {
		x, y := c.in[1-side].value, c.value
		for _, f := range c.in[side].value {
			row := y[:width]
			for i, v := range x[:width] {
				row[i] = v * f
			}
			x, y = x[width:], y[width:]
		}
		return
	}
	c.stretches(func(r stretch) {
		y, a, b := r.in(c.value), r.of(0, a), r.of(1, b)
		if r.still[0] {
			a, b = b, a
		}
		if len(b) == len(y) {
			kernels.Mul(y, a, b)
			return
		}
		kernels.Scaled(y, a, 0, b[0])
	})
}

func (multiply) backward(c *cell) {
	if side, width, is := c.byRow(); is {
		multiplyRowsGrad(c.in[side], c.in[1-side], c.grad, width)
		return
	}
	for side, x := range c.in {
		if !x.wanted {
			continue
		}
		dx, other := x.sum(), c.in[1-side].value
		c.stretches(func(r stretch) {
			to, dy, factor := r.of(side, dx), r.in(c.grad), r.of(1-side, other)
			switch {
			case r.still[side]:
				to[0] += kernels.Dot(dy, factor)
			case r.still[1-side]:
				kernels.Axpy(factor[0], dy, to)
			default:
				kernels.AddMul(to, dy, factor)
			}
		})
	}
}

// multiplyRowsGrad passes the gradient of rows times their factors to both inputs.
func multiplyRowsGrad(factors, rows *cell, grad []float32, width int) {
	if factors.wanted {
		df, x, dy := factors.sum(), rows.value, grad
		for r := range df {
			var s float32
			row := dy[:width]
			for i, v := range x[:width] {
				s += v * row[i]
			}
			df[r] += s
			x, dy = x[width:], dy[width:]
		}
	}
	if !rows.wanted {
		return
	}
	dx, dy, add := rows.grad, grad, rows.adds()
	for _, f := range factors.value {
		row := dx[:width]
		if !add {
			clear(row)
		}
		for i, g := range dy[:width] {
			row[i] += g * f
		}
		dx, dy = dx[width:], dy[width:]
	}
}

type divide struct{ pairwise }

func (divide) kind() string { return "divide" }

// pairs calls f for every element of the value, with the places of its two inputs.
func (c *cell) pairs(f func(i, a, b int)) {
	c.stretches(func(r stretch) {
		a, b := r.from[0], r.from[1]
		for i := r.at; i < r.at+r.n; i++ {
			f(i, a, b)
			if !r.still[0] {
				a++
			}
			if !r.still[1] {
				b++
			}
		}
	})
}

func (divide) forward(c *cell) {
	x, by := c.in[0].value, c.in[1].value
	c.stretches(func(r stretch) {
		y, a, b := r.in(c.value), r.of(0, x), r.of(1, by)
		switch {
		case r.still[0]:
			for i, v := range b {
				y[i] = a[0] / v
			}
		case r.still[1]:
			for i, v := range a {
				y[i] = v / b[0]
			}
		default:
			for i, v := range a {
				y[i] = v / b[i]
			}
		}
	})
}

func (divide) backward(c *cell) {
	x, by := c.in[0], c.in[1]
	if x.wanted {
		dx := x.sum()
		c.pairs(func(i, a, b int) { dx[a] += c.grad[i] / by.value[b] })
	}
	if by.wanted {
		db := by.sum()
		c.pairs(func(i, _, b int) { db[b] -= c.grad[i] * c.value[i] / by.value[b] })
	}
}

type subtract struct{ pairwise }

func (subtract) kind() string  { return "subtract" }
func (subtract) overwritable() {}

func (subtract) forward(c *cell) {
	x, less := c.in[0].value, c.in[1].value
	c.stretches(func(r stretch) {
		y, a, b := r.in(c.value), r.of(0, x), r.of(1, less)
		switch {
		case r.still[0]:
			for i, v := range b {
				y[i] = a[0] - v
			}
		case r.still[1]:
			kernels.Scaled(y, a, b[0], 1)
		default:
			copy(y, a)
			kernels.Axpy(-1, b, y)
		}
	})
}

func (subtract) backward(c *cell) {
	if a := c.in[0]; equalShapes(a.shape, c.shape) {
		pass(a, c.grad)
	} else {
		addStretches(c, 0, 1)
	}
	addStretches(c, 1, -1)
}

type scaled struct {
	elementwise
	Scale float32 `json:"scale"`
	Bias  float32 `json:"bias"`
}

func (scaled) kind() string  { return "scale" }
func (scaled) overwritable() {}
func (scaled) inPlace()      {}

func (s scaled) forward(c *cell) {
	kernels.Scaled(c.value, c.in[0].value, 0, s.Scale)
	if s.Bias != 0 {
		kernels.Scaled(c.value, c.value, -s.Bias, 1)
	}
}

func (s scaled) backward(c *cell) { passScaled(c.in[0], c.grad, s.Scale) }

// Add is a + b, element by element. After the batch, shapes are aligned from the right, and what is 1 or missing is
// repeated: [N L D] takes [N L 1], [N D], [L D] of a parameter, and [D], a bias. The batch is never repeated: [N] and
// [N 1] are refused.
func Add(a, b *Node) *Node { return apply("", add{}, a, b) }

type add struct{ pairwise }

func (add) kind() string  { return "add" }
func (add) overwritable() {}

func (add) forward(c *cell) {
	a, b := c.in[0].value, c.in[1].value
	c.stretches(func(r stretch) {
		y, a, b := r.in(c.value), r.of(0, a), r.of(1, b)
		if r.still[0] {
			a, b = b, a
		}
		if len(b) == len(y) {
			kernels.Add(y, a, b)
			return
		}
		for i, v := range a {
			y[i] = v + b[0]
		}
	})
}

func (add) backward(c *cell) {
	for side, in := range c.in {
		switch {
		case !in.wanted:
		case equalShapes(in.shape, c.shape):
			pass(in, c.grad)
		case isSuffix(c.node.shape, in.node.shape):
			kernels.SumRows(in.grad, c.grad, in.adds())
		default:
			addStretches(c, side, 1)
		}
	}
}
