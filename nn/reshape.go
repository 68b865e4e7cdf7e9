package nn

import (
	"fmt"
	"slices"
)

// Reshape gives every example of x other dimensions of the same size, in row-major order: of x with shape [N 1 28 28],
// Reshape(x, 784) has shape [N 784]. A node without examples, such as a parameter, is given its whole new shape.
func Reshape(x *Node, dims ...int) *Node { return apply("", reshape{slices.Clone(dims)}, x) }

type reshape struct {
	Dims []int `json:"dims"`
}

func (reshape) kind() string  { return "reshape" }
func (reshape) byExample()    {}
func (reshape) overwritable() {}
func (reshape) inPlace()      {}

func (r reshape) infer(in []*Node) ([]int, error) {
	x := in[0]
	size, shape := x.perExample(), append([]int{batch}, r.Dims...)
	if x.shape[0] != batch {
		size, shape = product(x.shape), r.Dims
	}
	for _, d := range r.Dims {
		if d <= 0 {
			return nil, fmt.Errorf("dimension %d of %v is not positive (the batch is left out)", d, r.Dims)
		}
	}
	if product(r.Dims) != size || len(shape) == 0 {
		return nil, fmt.Errorf("input %v has %d numbers an example, %v has %d", x, size, r.Dims, product(r.Dims))
	}
	return shape, wantFloat(in)
}

func (reshape) forward(c *cell) { copy(c.value, c.in[0].value) }

func (reshape) backward(c *cell) { pass(c.in[0], c.grad) }

// pass passes a gradient on unchanged.
func pass(x *cell, grad []float32) {
	switch {
	case !x.wanted:
	case x.adds():
		addTo(x.grad, grad)
	default:
		copy(x.grad, grad)
	}
}
