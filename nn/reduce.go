package nn

import (
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/internal/kernels"
)

// Sum adds up along an axis, counted with the batch as 0, which is removed: of x with shape [N F D], Sum(x, 1) has
// shape [N D]. The batch itself can't be summed over: a loss takes its [Mean].
func Sum(x *Node, axis int) *Node { return apply("", sum{axisOp{Axis: axis}}, x) }

// Max takes the largest element along an axis, which is removed as in [Sum]. All elements that are equal to the largest
// get its gradient, as in the original's reduce_max; SequencePool gives it to the first of them, as PyTorch's max does.
func Max(x *Node, axis int) *Node { return apply("", maximum{axisOp{Axis: axis}}, x) }

// MeanAxis is the mean along an axis, which is removed as in [Sum].
func MeanAxis(x *Node, axis int) *Node {
	y := Sum(x, axis)
	if y.bad {
		return y
	}
	return Scale(y, 1/float32(x.shape[axis]), 0)
}

// axisOp has the methods that reductions along an axis share.
type axisOp struct {
	Axis int `json:"axis"`
}

func (axisOp) byExample() {}

func (o axisOp) infer(in []*Node) ([]int, error) {
	x := in[0]
	if o.Axis < 0 || o.Axis >= len(x.shape) {
		return nil, fmt.Errorf("input %v has no axis %d", x, o.Axis)
	}
	if x.shape[o.Axis] == batch {
		return nil, fmt.Errorf("axis 0 of input %v is the batch, over which a loss takes its Mean", x)
	}
	shape := slices.Delete(slices.Clone(x.shape), o.Axis, o.Axis+1)
	if len(shape) == 0 {
		shape = []int{1}
	}
	return shape, wantFloat(in)
}

type sum struct{ axisOp }

func (sum) kind() string  { return "sum" }
func (sum) overwritable() {}

func (o sum) forward(c *cell) {
	x, n := c.in[0].value, c.in[0].shape[o.Axis]
	if width := product(c.in[0].shape[o.Axis+1:]); width > 1 { // groups of n rows are added up
		for i := range len(c.value) / width {
			kernels.SumRows(c.value[i*width:(i+1)*width], x[i*n*width:(i+1)*n*width], false)
		}
		return
	}
	for i := range c.value {
		var s float32
		for _, v := range x[i*n : (i+1)*n] {
			s += v
		}
		c.value[i] = s
	}
}

func (o sum) backward(c *cell) {
	if !c.in[0].wanted {
		return
	}
	dx, n := c.in[0].sum(), c.in[0].shape[o.Axis]
	if width := product(c.in[0].shape[o.Axis+1:]); width > 1 {
		for i := range len(c.grad) / width {
			kernels.AddBias(dx[i*n*width:(i+1)*n*width], c.grad[i*width:(i+1)*width])
		}
		return
	}
	for i, g := range c.grad {
		for j := range n {
			dx[i*n+j] += g
		}
	}
}

type maximum struct{ axisOp }

func (maximum) kind() string { return "max" }

// stretches calls f for each stretch of adjacent results, with the beginning of their lanes in the input.
func (o maximum) stretches(c *cell, f func(out, begin, n, stride int)) {
	n, stride := c.in[0].shape[o.Axis], product(c.in[0].shape[o.Axis+1:])
	for out := 0; out < len(c.value); out += stride {
		f(out, out*n, n, stride)
	}
}

func (o maximum) forward(c *cell) {
	x := c.in[0].value
	o.stretches(c, func(out, begin, n, stride int) {
		y := c.value[out : out+stride]
		copy(y, x[begin:])
		for at := begin + stride; at < begin+n*stride; at += stride {
			for i, v := range x[at : at+stride] {
				y[i] = max(y[i], v)
			}
		}
	})
}

func (o maximum) backward(c *cell) {
	if !c.in[0].wanted {
		return
	}
	x, dx := c.in[0].value, c.in[0].sum()
	o.stretches(c, func(out, begin, n, stride int) {
		y, dy := c.value[out:out+stride], c.grad[out:out+stride]
		for at := begin; at < begin+n*stride; at += stride {
			for i, v := range x[at : at+stride] {
				if v == y[i] {
					dx[at+i] += dy[i]
				}
			}
		}
	})
}
