package nn

import (
	"fmt"
	"slices"
)

// Transpose puts the axes of x, counted with the batch as 0, into another order, in which the batch stays the first: of
// x with shape [N L H D], Transpose(x, 0, 2, 1, 3) has shape [N H L D].
func Transpose(x *Node, axes ...int) *Node { return apply("", transpose{slices.Clone(axes)}, x) }

type transpose struct {
	Axes []int `json:"axes"`
}

func (transpose) kind() string  { return "transpose" }
func (transpose) byExample()    {}
func (transpose) overwritable() {}

func (t transpose) infer(in []*Node) ([]int, error) {
	x := in[0]
	all := slices.Sorted(slices.Values(t.Axes))
	for i, axis := range all {
		if i != axis {
			all = nil
			break
		}
	}
	if len(all) != len(x.shape) || len(all) > mostDims || x.shape[0] == batch && t.Axes[0] != 0 {
		return nil, fmt.Errorf("axes %v must be a permutation of those of %v, with the batch first", t.Axes, x)
	}
	shape := make([]int, len(all))
	for i, axis := range t.Axes {
		shape[i] = x.shape[axis]
	}
	return shape, wantFloat(in)
}

// rows calls f for each piece of the value, n elements from at on, with the place of the first in the input, and the
// distance between them.
func (t transpose) rows(c *cell, f func(at, n, from, stride int)) {
	var stride, index [mostDims]int
	last, in := len(t.Axes)-1, c.in[0].shape
	for i, axis := range t.Axes {
		stride[i] = product(in[axis+1:])
	}
	n, from := c.shape[last], 0
	for at := 0; at < len(c.value); at += n {
		f(at, n, from, stride[last])
		for i := last - 1; i >= 0; i-- {
			index[i]++
			from += stride[i]
			if index[i] < c.shape[i] {
				break
			}
			from -= index[i] * stride[i]
			index[i] = 0
		}
	}
}

func (t transpose) forward(c *cell) {
	x := c.in[0].value
	t.rows(c, func(at, n, from, stride int) {
		y := c.value[at : at+n]
		if stride == 1 {
			copy(y, x[from:])
			return
		}
		for i := range y {
			y[i] = x[from+i*stride]
		}
	})
}

func (t transpose) backward(c *cell) {
	if !c.in[0].wanted {
		return
	}
	dx, add := c.in[0].grad, c.in[0].adds()
	if !add && last(t.Axes) != len(t.Axes)-1 {
		clear(dx) // the loop over single elements only adds
	}
	t.rows(c, func(at, n, from, stride int) {
		dy := c.grad[at : at+n]
		switch {
		case stride == 1 && add:
			addTo(dx[from:from+n], dy)
		case stride == 1:
			copy(dx[from:], dy)
		default:
			for i, g := range dy {
				dx[from+i*stride] += g
			}
		}
	})
}
