package nn

import (
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/internal/kernels"
)

// mostDims is the largest number of dimensions of a value computed from inputs of different shapes.
const mostDims = 8

// broadcast returns the shape to which a and b are repeated. Dimensions after the batch are aligned from the right, and
// a dimension that is 1 or missing is repeated as often as the other's. The batch is never repeated: an input with a
// batch has dimensions behind it, and an input without, such as a parameter, has no more dimensions than the other has
// after the batch.
func broadcast(a, b []int) ([]int, bool) {
	if equalShapes(a, b) {
		return a, true
	}
	restA, restB := behindBatch(a), behindBatch(b)
	batched := len(restA) < len(a) || len(restB) < len(b)
	if len(restA) < len(restB) {
		a, b, restA, restB = b, a, restB, restA
	}
	if len(restB) == 0 || len(a) > mostDims || batched && len(restA) == len(a) && len(restA) > len(restB) {
		return nil, false
	}
	rest := slices.Clone(restA)
	for i, d := range restB {
		at := &rest[len(rest)-len(restB)+i]
		if *at != d && *at != 1 && d != 1 {
			return nil, false
		}
		*at = max(*at, d)
	}
	if batched {
		rest = append([]int{batch}, rest...)
	}
	return rest, true
}

// behindBatch returns the dimensions of one example, or the whole shape if it has no batch.
func behindBatch(shape []int) []int {
	if len(shape) > 0 && shape[0] == batch {
		return shape[1:]
	}
	return shape
}

// pairwise has the methods that arithmetic on two inputs shares.
type pairwise struct{}

func (pairwise) byExample() {}

func (pairwise) infer(in []*Node) ([]int, error) {
	if err := wantFloat(in); err != nil {
		return nil, err
	}
	shape, ok := broadcast(in[0].shape, in[1].shape)
	if !ok {
		return nil, fmt.Errorf("%w: dimensions after the batch, from the right, must be equal or 1", differ(in))
	}
	return shape, nil
}

// stretch is a piece of a value along which each input advances by a step of 1 or is constant.
type stretch struct {
	at, n int    // in the value
	from  [2]int // its beginning in the inputs
	still [2]bool
}

// of returns the input's part of the stretch, one element if the input is constant.
func (r stretch) of(input int, x []float32) []float32 {
	if r.still[input] {
		return x[r.from[input] : r.from[input]+1]
	}
	return x[r.from[input] : r.from[input]+r.n]
}

// in returns the stretch's part of the value, or of its gradient.
func (r stretch) in(y []float32) []float32 { return y[r.at : r.at+r.n] }

// group is one dimension of a value, or several contiguous ones that are repeated alike.
type group struct {
	size   int
	repeat [2]bool
}

// stretches calls f for the stretches of the value in order, each as long as possible.
func (c *cell) stretches(f func(r stretch)) {
	groups, n := c.groups()
	walk(groups[:n], f)
}

// shortRow is the longest row for which an inline loop is faster than the call of a kernel.
const shortRow = 32

// byRow reports whether one input has one number for each short row of the other, and the width of a row: such as
// weights of shape [N L 1] for rows of shape [N L D].
func (c *cell) byRow() (side, width int, is bool) {
	groups, n := c.groups()
	if n != 2 || groups[0].size > shortRow || groups[1].repeat != [2]bool{} || groups[0].repeat == [2]bool{} {
		return 0, 0, false
	}
	if groups[0].repeat[1] {
		side = 1
	}
	return side, groups[0].size, true
}

// groups returns the groups of the value, the last dimensions first; equal shapes of any rank are one group.
func (c *cell) groups() (groups [mostDims + 1]group, n int) {
	for back := 1; back <= len(c.shape); back++ {
		g := group{size: c.shape[len(c.shape)-back]}
		if g.size == 1 {
			continue
		}
		for i, in := range c.in {
			g.repeat[i] = in.dimFromRight(back, len(c.shape)) == 1
		}
		if n > 0 && groups[n-1].repeat == g.repeat {
			groups[n-1].size *= g.size
			continue
		}
		groups[n] = g
		n++
	}
	if n == 0 {
		groups[0], n = group{size: 1}, 1
	}
	return groups, n
}

// dimFromRight is a dimension of an input of a value with dims dimensions, counted from the right. The input's batch,
// if any, is aligned with the value's.
func (c *cell) dimFromRight(back, dims int) int {
	batched := len(c.node.shape) > 0 && c.node.shape[0] == batch
	switch own := len(c.shape); {
	case batched && back == dims:
		return c.shape[0]
	case batched && back >= own, back > own:
		return 1
	default:
		return c.shape[own-back]
	}
}

func walk(groups []group, f func(r stretch)) {
	r := stretch{n: groups[0].size, still: groups[0].repeat}
	size := r.n
	var step [mostDims + 1][2]int // of an input, for each step along a group
	var at [mostDims + 1]int
	length := [2]int{1, 1}
	for i, g := range groups {
		for side, repeated := range g.repeat {
			if !repeated {
				step[i][side] = length[side]
				length[side] *= g.size
			}
		}
		if i > 0 {
			size *= g.size
		}
	}
	for ; r.at < size; r.at += r.n {
		f(r)
		for i := 1; i < len(groups); i++ {
			at[i]++
			r.from[0], r.from[1] = r.from[0]+step[i][0], r.from[1]+step[i][1]
			if at[i] < groups[i].size {
				break
			}
			r.from[0], r.from[1] = r.from[0]-at[i]*step[i][0], r.from[1]-at[i]*step[i][1]
			at[i] = 0
		}
	}
}

// Expand repeats x to the dimensions of one example, as arithmetic repeats its inputs: of x with shape [N 1 D],
// Expand(x, L, D) has shape [N L D]. A node without examples, such as a parameter, is given its whole new shape.
func Expand(x *Node, dims ...int) *Node { return apply("", expand{slices.Clone(dims)}, x) }

type expand struct {
	Dims []int `json:"dims"`
}

func (expand) kind() string { return "expand" }
func (expand) byExample()   {}

func (e expand) infer(in []*Node) ([]int, error) {
	want := e.Dims
	if len(behindBatch(in[0].shape)) < len(in[0].shape) {
		want = append([]int{batch}, want...)
	}
	shape, ok := broadcast(in[0].shape, want)
	if !ok || !equalShapes(shape, want) || slices.ContainsFunc(e.Dims, func(d int) bool { return d <= 0 }) {
		return nil, fmt.Errorf("input %v can't be repeated to %s", in[0], shapeString(want))
	}
	return shape, wantFloat(in)
}

func (expand) forward(c *cell) {
	c.stretches(func(r stretch) {
		to, from := r.in(c.value), r.of(0, c.in[0].value)
		if !r.still[0] {
			copy(to, from)
			return
		}
		for i := range to {
			to[i] = from[0]
		}
	})
}

func (expand) backward(c *cell) { addStretches(c, 0, 1) }

// addStretches adds the gradient times a factor to that of an input, summed over the input's repetitions.
func addStretches(c *cell, side int, factor float32) {
	x := c.in[side]
	if !x.wanted {
		return
	}
	dx := x.sum()
	c.stretches(func(r stretch) {
		to, dy := r.of(side, dx), r.in(c.grad)
		if r.still[side] {
			to[0] += factor * kernels.Sum(dy)
			return
		}
		kernels.Axpy(factor, dy, to)
	})
}
