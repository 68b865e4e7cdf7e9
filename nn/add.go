package nn

import (
	"fmt"

	"github.com/gofleet/gofleet/internal/kernels"
)

// Add is a + b. b has a's shape, or is fixed and has a's last dimensions, as a bias has, and is then added to every example.
func Add(a, b *Node) *Node { return apply("", add{}, a, b) }

type add struct{}

func (add) kind() string  { return "add" }
func (add) overwritable() {}

func (add) infer(in []*Node) ([]int, error) {
	a, b := in[0], in[1]
	if !equalShapes(a.shape, b.shape) && !isSuffix(a.shape, b.shape) {
		return nil, fmt.Errorf("%v and %v can't be added: shapes are neither the same nor is the second a bias of the first", a, b)
	}
	return a.shape, wantFloat(in)
}

func (add) forward(c *cell) {
	a, b := c.in[0].value, c.in[1].value
	if len(a) == len(b) {
		kernels.Add(c.value, a, b)
		return
	}
	copy(c.value, a)
	kernels.AddBias(c.value, b)
}

func (add) backward(c *cell) {
	pass(c.in[0], c.grad)
	b := c.in[1]
	switch {
	case !b.wanted:
	case len(b.grad) == len(c.grad):
		pass(b, c.grad)
	default:
		kernels.SumRows(b.grad, c.grad, b.adds())
	}
}

func addTo(dst, x []float32) { kernels.Add(dst, dst, x) }
