package nn

import "github.com/gofleet/gofleet/internal/kernels"

// Multiply is a·b, element by element, of two nodes of the same shape.
func Multiply(a, b *Node) *Node { return apply("", multiply{}, a, b) }

// Divide is a/b, element by element, of two nodes of the same shape.
func Divide(a, b *Node) *Node { return apply("", divide{}, a, b) }

// Subtract is a − b, element by element, of two nodes of the same shape.
func Subtract(a, b *Node) *Node { return apply("", subtract{}, a, b) }

// Scale is scale·x + bias, element by element, with numbers that are not trained.
func Scale(x *Node, scale, bias float32) *Node { return apply("", scaled{Scale: scale, Bias: bias}, x) }

// pairwise is the part that functions of two elements have in common.
type pairwise struct{}

func (pairwise) infer(in []*Node) ([]int, error) { return in[0].shape, sameShape(in) }

type multiply struct{ pairwise }

func (multiply) kind() string { return "multiply" }

func (multiply) forward(c *cell) { kernels.Mul(c.value, c.in[0].value, c.in[1].value) }

func (multiply) backward(c *cell) {
	a, b := c.in[0], c.in[1]
	addProduct(a, c.grad, b.value)
	addProduct(b, c.grad, a.value)
}

// addProduct adds dy·factor to the gradient of x.
func addProduct(x *cell, dy, factor []float32) {
	if !x.wanted {
		return
	}
	dx := x.sum()
	for i, f := range factor {
		dx[i] += dy[i] * f
	}
}

type divide struct{ pairwise }

func (divide) kind() string { return "divide" }

func (divide) forward(c *cell) {
	a, b := c.in[0].value, c.in[1].value
	for i := range c.value {
		c.value[i] = a[i] / b[i]
	}
}

func (divide) backward(c *cell) {
	a, b := c.in[0], c.in[1]
	if a.wanted {
		dx := a.sum()
		for i, g := range c.grad {
			dx[i] += g / b.value[i]
		}
	}
	if b.wanted {
		dx := b.sum()
		for i, g := range c.grad {
			dx[i] -= g * c.value[i] / b.value[i]
		}
	}
}

type subtract struct{ pairwise }

func (subtract) kind() string  { return "subtract" }
func (subtract) overwritable() {}

func (subtract) forward(c *cell) {
	a, b := c.in[0].value, c.in[1].value
	for i := range c.value {
		c.value[i] = a[i] - b[i]
	}
}

func (subtract) backward(c *cell) {
	pass(c.in[0], c.grad)
	if b := c.in[1]; b.wanted {
		kernels.Axpy(-1, c.grad, b.sum())
	}
}

type scaled struct {
	elementwise
	Scale float32 `json:"scale"`
	Bias  float32 `json:"bias"`
}

func (scaled) kind() string  { return "scale" }
func (scaled) overwritable() {}

func (s scaled) forward(c *cell) {
	c.each(func(x float32) float32 { return s.Scale*x + s.Bias })
}

func (s scaled) backward(c *cell) {
	if x := c.in[0]; x.wanted {
		kernels.Axpy(s.Scale, c.grad, x.sum())
	}
}
