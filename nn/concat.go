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
				"have to be the same", in[0], n, axis)
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

// Slice is the elements from index from up to, but not including, index to, along an axis, counted with the batch as 0:
// of x with shape [N L D], Slice(x, 1, 2, 5) has shape [N 3 D].
func Slice(x *Node, axis, from, to int) *Node { return apply("", slice{axis, from, to}, x) }

// Split cuts x along an axis, counted with the batch as 0, into pieces of these sizes, which make up the whole: of x
// with shape [N 3], Split(x, 1, 1, 2) has nodes of shapes [N 1] and [N 2].
func Split(x *Node, axis int, sizes ...int) []*Node {
	pieces, from := make([]*Node, len(sizes)), 0
	for i, size := range sizes {
		pieces[i] = Slice(x, axis, from, from+size)
		from += size
	}
	if x != nil && !x.bad && axis > 0 && axis < len(x.shape) && from != x.shape[axis] {
		x.graph.newNode("", slice{}, x).spoil(fmt.Errorf("pieces of %v have %d along axis %d of %v together", sizes,
			from, axis, x))
	}
	return pieces
}

type slice struct {
	Axis int `json:"axis"`
	From int `json:"from"`
	To   int `json:"to"`
}

func (slice) kind() string  { return "slice" }
func (slice) byExample()    {}
func (slice) overwritable() {}

func (s slice) infer(in []*Node) ([]int, error) {
	x := in[0]
	if s.Axis < 1 || s.Axis >= len(x.shape) {
		return nil, fmt.Errorf("input %v can't be cut along axis %d: give one after the batch, which is axis 0",
			x, s.Axis)
	}
	if s.From < 0 || s.From >= s.To || s.To > x.shape[s.Axis] {
		return nil, fmt.Errorf("slice [%d:%d] out of range for axis %d of %v", s.From, s.To, s.Axis, x)
	}
	shape := append([]int(nil), x.shape...)
	shape[s.Axis] = s.To - s.From
	return shape, wantFloat(in)
}

// widths returns the numbers of elements of the value and of the input for one index of the axes before, and the
// beginning of the value in the input's.
func (s slice) widths(c *cell) (own, whole, from int) {
	inner := product(c.shape[s.Axis+1:])
	return (s.To - s.From) * inner, c.in[0].shape[s.Axis] * inner, s.From * inner
}

func (s slice) forward(c *cell) {
	own, whole, from := s.widths(c)
	for i := 0; i*own < len(c.value); i++ {
		copy(c.value[i*own:(i+1)*own], c.in[0].value[i*whole+from:])
	}
}

func (s slice) backward(c *cell) {
	if !c.in[0].wanted {
		return
	}
	dx := c.in[0].sum()
	own, whole, from := s.widths(c)
	for i := 0; i*own < len(c.grad); i++ {
		addTo(dx[i*whole+from:i*whole+from+own], c.grad[i*own:(i+1)*own])
	}
}

// Gather takes the elements of x at given positions: of x with shape [N L D] and ids, int64 and below L, of shape [N K]
// it is [N K D], and of ids of shape [N], such as each example's last position, [N D].
func Gather(x, ids *Node) *Node { return apply("", gather{}, x, ids) }

type gather struct{}

func (gather) kind() string { return "gather" }
func (gather) byExample()   {}

func (gather) infer(in []*Node) ([]int, error) {
	x, ids := in[0], in[1]
	if len(x.shape) < 2 || x.shape[0] != batch || !isInt(ids) || ids.shape[0] != batch {
		return nil, fmt.Errorf("%v and %v don't fit: shapes [N L …] and, of int64, [N …] are needed", x, ids)
	}
	shape := append([]int{batch}, ids.shape[1:]...)
	return append(shape, x.shape[2:]...), wantFloat(in[:1])
}

func (gather) limits(n *Node) []limit {
	return []limit{{input: 1, below: int64(n.in[0].shape[1]), why: fmt.Sprintf("the positions of %v", n.in[0])}}
}

// each calls f with the beginnings of a row of size elements in the value and in x.
func (gather) each(c *cell, f func(to, from, size int)) {
	x, ids := c.in[0], c.in[1].ids
	size, per := product(x.shape[2:]), product(c.in[1].shape[1:])
	for i, id := range ids {
		f(i*size, (i/per*x.shape[1]+int(id))*size, size)
	}
}

func (g gather) forward(c *cell) {
	g.each(c, func(to, from, size int) { copy(c.value[to:to+size], c.in[0].value[from:]) })
}

func (g gather) backward(c *cell) {
	if x := c.in[0]; x.wanted {
		dx := x.sum()
		g.each(c, func(to, from, size int) { kernels.Add(dx[from:from+size], dx[from:from+size], c.grad[to:to+size]) })
	}
}
