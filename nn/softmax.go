package nn

import (
	"fmt"
	"math"

	"github.com/gofleet/gofleet/internal/kernels"
)

// Softmax makes the last dimension a distribution: eˣ over the sum of eˣ.
func Softmax(x *Node) *Node { return apply("", softmax{}, x) }

type softmax struct{}

func (softmax) kind() string { return "softmax" }
func (softmax) byExample()   {}
func (softmax) inPlace()     {}

func (softmax) infer(in []*Node) ([]int, error) { return in[0].shape, wantClasses(in[0]) }

// wantClasses requires a fixed last dimension.
func wantClasses(x *Node) error {
	if len(x.shape) < 2 && x.shape[0] == batch {
		return fmt.Errorf("input %v has no classes: shape [N classes] is needed", x)
	}
	return wantFloat([]*Node{x})
}

func (softmax) forward(c *cell) { kernels.SoftmaxRows(c.value, c.in[0].value, c.last()) }

func (softmax) backward(c *cell) {
	if x := c.in[0]; x.wanted {
		kernels.SoftmaxRowsGrad(x.grad, c.value, c.grad, c.last(), x.adds())
	}
}

// LogSoftmax is the logarithm of [Softmax], computed without leaving the range of float32.
func LogSoftmax(x *Node) *Node { return apply("", logSoftmax{}, x) }

type logSoftmax struct{}

func (logSoftmax) kind() string { return "log_softmax" }
func (logSoftmax) byExample()   {}

func (logSoftmax) infer(in []*Node) ([]int, error) { return in[0].shape, wantClasses(in[0]) }

func (logSoftmax) forward(c *cell) {
	cols := c.last()
	for i := 0; i < len(c.value); i += cols {
		logSoftmaxRow(c.value[i:i+cols], c.in[0].value[i:i+cols])
	}
}

// logSoftmaxRow writes x − ln Σeˣ.
func logSoftmaxRow(dst, x []float32) {
	top, sum := kernels.Exponentials(dst, x)
	shift := float64(top) + math.Log(float64(sum))
	for i, v := range x {
		dst[i] = float32(float64(v) - shift)
	}
}

func (logSoftmax) backward(c *cell) {
	x, cols := c.in[0], c.last()
	if !x.wanted {
		return
	}
	dx, p := x.sum(), c.scratch(len(x.value))
	kernels.Exp(p, c.value)
	for i := 0; i < len(dx); i += cols {
		total := float32(sum64(c.grad[i : i+cols]))
		for j := i; j < i+cols; j++ {
			dx[j] += c.grad[j] - p[j]*total
		}
	}
}

// MaskedSoftmax makes the last dimension of x a distribution over the positions where mask is not 0: eˣ over the sum of
// eˣ there, and 0 elsewhere. If all positions are left out, all are 0 and have no gradient. mask is repeated to the
// shape of x as [Add] does: for scores of shape [N H Q L] it may be [N L], the positions of an example that are in use.
// It gets no gradient.
func MaskedSoftmax(x, mask *Node) *Node { return apply("", maskedSoftmax{}, x, mask) }

// maskedSoftmax has an optional mask as its second input.
type maskedSoftmax struct {
	Causal bool `json:"causal,omitempty"` // leaves out elements above the diagonal of the last two dimensions
}

func (maskedSoftmax) kind() string          { return "masked_softmax" }
func (maskedSoftmax) passes(input int) bool { return input == 0 }
func (maskedSoftmax) byExample()            {}
func (maskedSoftmax) inPlace()              {}

// backward gives elements that are 0 no gradient, and does not let them affect others'.
func (maskedSoftmax) backward(c *cell) { softmax{}.backward(c) }

func (o maskedSoftmax) infer(in []*Node) ([]int, error) {
	x := in[0]
	if err := wantFloat(in); err != nil {
		return nil, err
	}
	if len(in) > 1 {
		if shape, ok := broadcast(x.shape, in[1].shape); !ok || !equalShapes(shape, x.shape) {
			return nil, fmt.Errorf("mask %v does not fit %v: it is repeated to that shape, and no further", in[1], x)
		}
	}
	if o.Causal && len(x.shape) < 3 {
		return nil, fmt.Errorf("input %v has no places that follow each other: shape [N … Q L] is needed", x)
	}
	return x.shape, wantClasses(x)
}

// forward computes the softmax of the positions that the mask keeps, row by row.
func (o maskedSoftmax) forward(c *cell) {
	cols := c.last()
	p := places{kept: c.scratchInts(cols), room: c.scratch(cols)}
	if len(c.in) == 1 {
		for at := 0; at < len(c.value); at += cols {
			o.row(c, at, nil, &p)
		}
		return
	}
	c.stretches(func(r stretch) {
		mask := r.of(1, c.in[1].value)
		for at := r.at; at < r.at+r.n; at += cols {
			o.row(c, at, mask, &p)
			if !r.still[1] {
				mask = mask[cols:]
			}
		}
	})
}

// row computes the softmax of the row at at. mask has a number for each position, one for all, or is empty.
func (o maskedSoftmax) row(c *cell, at int, mask []float32, p *places) {
	seen := c.last()
	if o.Causal {
		seen = min(at/seen%c.shape[len(c.shape)-2]+1, seen)
	}
	if len(mask) > 1 {
		mask = mask[:seen]
	}
	p.find(seen, mask)
	p.softmax(c.value[at:at+c.last()], c.in[0].value[at:at+seen])
}

// places are the positions of a row that a mask keeps, in order.
type places struct {
	mask []float32 // the mask that gave them
	seen int
	kept []int32
	room []float32
}

// find determines the positions, unless the row before had the same mask.
func (p *places) find(seen int, mask []float32) {
	if p.seen == seen && len(p.mask) == len(mask) && (len(mask) == 0 || &p.mask[0] == &mask[0]) {
		return
	}
	p.mask, p.seen, p.kept = mask, seen, p.kept[:0]
	for i := range seen {
		if len(mask) == 0 || mask[min(i, len(mask)-1)] != 0 {
			p.kept = append(p.kept, int32(i))
		}
	}
}

// softmax writes the softmax of x over the positions to y, which may be x, and 0 elsewhere.
func (p *places) softmax(y, x []float32) {
	n := len(p.kept)
	if n == 0 {
		clear(y)
		return
	}
	if first := int(p.kept[0]); int(p.kept[n-1]) == first+n-1 { // contiguous
		kernels.SoftmaxRows(y[first:first+n], x[first:first+n], n)
		clear(y[:first])
		clear(y[first+n:])
		return
	}
	room := p.room[:n]
	for i, at := range p.kept {
		room[i] = x[at]
	}
	kernels.SoftmaxRows(room, room, n)
	clear(y)
	for i, at := range p.kept {
		y[at] = room[i]
	}
}
