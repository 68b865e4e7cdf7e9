package nn

import (
	"fmt"
	"math"
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

// Cast is x with elements of another type, of the same shape; x itself when they are of that type already. Int64
// becomes the nearest float32, which is the same number up to 2²⁴; float32 is cut to whole numbers, towards 0, and has
// to be one that int64 can hold. No gradient passes. An embedding can't look up the result of a Cast: its ids are fed,
// since the rows of a step are pulled before anything is computed.
func Cast(x *Node, to DType) *Node {
	if x != nil && !x.bad && !varies(x) && !isTable(x) && to == x.dtype() {
		return x
	}
	return apply("", cast{to}, x)
}

type cast struct {
	To DType `json:"to"`
}

func (cast) kind() string { return "cast" }

func (o cast) infer(in []*Node) ([]int, error) {
	x := in[0]
	switch {
	case o.To != Float32 && o.To != Int64:
		return nil, fmt.Errorf("input %v can't become %q; want float32 or int64", x, o.To)
	case varies(x) || isTable(x):
		return nil, fmt.Errorf("input %v has no elements to cast: it is looked up with an embedding", x)
	case o.To == x.dtype():
		return nil, fmt.Errorf("input %v is %s already", x, o.To)
	}
	return x.shape, nil
}

// limits are those of int64, for a cast to it.
func (o cast) limits(*Node) []limit {
	if o.To == Float32 {
		return nil
	}
	return []limit{{between: &span{-1 << 63, math.Nextafter32(1<<63, 0), false}, why: "no number that int64 can hold"}}
}

func (o cast) forward(c *cell) {
	x := c.in[0]
	if o.To == Int64 {
		for i, v := range x.value {
			c.ids[i] = int64(v)
		}
		return
	}
	for i, id := range x.ids {
		c.value[i] = float32(id)
	}
}

func (cast) backward(*cell)  {}
func (cast) passes(int) bool { return false }
func (o cast) dtype() DType  { return o.To }

// Detach is x without a gradient: x and its inputs are not trained through it. So a label may come from the model
// itself, such as a teacher's output. Rows that are looked up only for detached values are read as in an evaluation.
func Detach(x *Node) *Node { return apply("", detach{}, x) }

type detach struct{}

func (detach) kind() string                    { return "detach" }
func (detach) infer(in []*Node) ([]int, error) { return in[0].shape, wantFloat(in) }
func (detach) forward(c *cell)                 { copy(c.value, c.in[0].value) }
func (detach) backward(*cell)                  {}
func (detach) passes(int) bool                 { return false }
