package nn

import (
	"errors"
	"fmt"

	"github.com/gofleet/gofleet/internal/kernels"
)

// Concat joins nodes of shape [N a], [N b] and so on along the second dimension, to [N a+b…].
func Concat(in ...*Node) *Node { return apply("", concat{}, in...) }

type concat struct{}

func (concat) kind() string  { return "concat" }
func (concat) overwritable() {}

func (concat) infer(in []*Node) ([]int, error) {
	if len(in) == 0 {
		return nil, errors.New("nothing to join")
	}
	if err := wantFloat(in); err != nil {
		return nil, err
	}
	shape := []int{in[0].shape[0], 0}
	for _, n := range in {
		if len(n.shape) != 2 || n.shape[0] != shape[0] {
			return nil, fmt.Errorf("inputs %v and %v don't fit: two dimensions are needed, the first the same", in[0], n)
		}
		shape[1] += n.shape[1]
	}
	return shape, nil
}

func (concat) forward(c *cell) {
	width, at := c.cols(), 0
	for _, in := range c.in {
		cols := in.cols()
		for i := range c.rows() {
			copy(c.value[i*width+at:], in.value[i*cols:(i+1)*cols])
		}
		at += cols
	}
}

func (concat) backward(c *cell) {
	at := 0
	for _, in := range c.in {
		if in.wanted {
			part(in, c, at)
		}
		at += in.cols()
	}
}

// part gives one input its columns of the gradient, which begin at a column.
func part(in, c *cell, at int) {
	width, cols, add := c.cols(), in.cols(), in.adds()
	for i := range c.rows() {
		dx, dy := in.grad[i*cols:(i+1)*cols], c.grad[i*width+at:i*width+at+cols]
		if add {
			kernels.Add(dx, dx, dy)
		} else {
			copy(dx, dy)
		}
	}
}
