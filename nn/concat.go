package nn

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/internal/kernels"
)

// Concat joins nodes along their last dimension: [N a], [N b] and so on to [N a+b…], [N L a] and [N L b] to [N L a+b].
// Their other dimensions are the same.
func Concat(in ...*Node) *Node { return apply("", concat{}, in...) }

// ConcatAxis joins nodes along an axis, counted with the batch as 0: of [N L D] and [N K D], ConcatAxis(1, a, b) has
// shape [N L+K D].
func ConcatAxis(axis int, in ...*Node) *Node {
	if axis == 0 {
		axis = -1 // refused, because 0 means the last axis
	}
	return apply("", concat{Axis: axis}, in...)
}

// Stack joins nodes of the same shape along a new axis, counted with the batch as 0: of two of shape [N D], Stack(1, a,
// b) has shape [N 2 D].
func Stack(axis int, in ...*Node) *Node {
	rows := make([]*Node, len(in))
	for i, x := range in {
		if x == nil || x.bad || axis < 1 || axis > len(x.shape) {
			return ConcatAxis(axis, in...)
		}
		rows[i] = Reshape(x, behindBatch(slices.Insert(slices.Clone(x.shape), axis, 1))...)
	}
	return ConcatAxis(axis, rows...)
}

type concat struct {
	Axis int `json:"axis,omitempty"` // 0 means the last
}

func (concat) kind() string  { return "concat" }
func (concat) byExample()    {}
func (concat) overwritable() {}

// axis is the axis of an input along which it is joined.
func (o concat) axis(dims int) int {
	if o.Axis == 0 {
		return dims - 1
	}
	return o.Axis
}

func (o concat) infer(in []*Node) ([]int, error) {
	if len(in) == 0 {
		return nil, errors.New("nothing to join")
	}
	if err := wantFloat(in); err != nil {
		return nil, err
	}
	axis := o.axis(len(in[0].shape))
	if axis < 1 || axis >= len(in[0].shape) {
		return nil, fmt.Errorf("input %v can't be joined along axis %d: give one after the batch, which is axis 0",
			in[0], axis)
	}
	shape := slices.Clone(in[0].shape)
	for _, n := range in[1:] {
		if len(n.shape) != len(shape) || !equalShapes(without(n.shape, axis), without(shape, axis)) {
			return nil, fmt.Errorf("inputs %v and %v don't fit: all dimensions but the one that is joined, axis %d, "+
				"have to be the same",
				in[0], n, axis)
		}
		shape[axis] += n.shape[axis]
	}
	return shape, nil
}

// without returns a shape without an axis.
func without(shape []int, axis int) []int {
	return slices.Delete(slices.Clone(shape), axis, axis+1)
}

func (o concat) forward(c *cell) {
	width, at := product(c.shape[o.axis(len(c.shape)):]), 0
	for _, in := range c.in {
		cols := product(in.shape[o.axis(len(c.shape)):])
		for i := 0; i*width < len(c.value); i++ {
			copy(c.value[i*width+at:], in.value[i*cols:(i+1)*cols])
		}
		at += cols
	}
}

func (o concat) backward(c *cell) {
	width, at := product(c.shape[o.axis(len(c.shape)):]), 0
	for _, in := range c.in {
		cols := product(in.shape[o.axis(len(c.shape)):])
		if in.wanted {
			part(in.grad, cols, c.grad[at:], width, in.adds())
		}
		at += cols
	}
}

// part passes the gradient to an input with rows of cols elements, from the beginnings of the gradient's rows.
func part(dx []float32, cols int, grad []float32, width int, add bool) {
	for i := 0; i*cols < len(dx); i++ {
		dx, dy := dx[i*cols:(i+1)*cols], grad[i*width:i*width+cols]
		if add {
			kernels.Add(dx, dx, dy)
		} else {
			copy(dx, dy)
		}
	}
}
