package nn

import "github.com/gofleet/gofleet/internal/kernels"

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

func addTo(dst, x []float32) { kernels.Add(dst, dst, x) }
