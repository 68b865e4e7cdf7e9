package nn

import (
	"fmt"

	"github.com/gofleet/gofleet/internal/kernels"
)

// MaskedSoftmax makes the last dimension of x a distribution over the positions where mask is not 0: eˣ over the sum of
// eˣ there, and 0 elsewhere. If all positions are left out, all are 0 and have no gradient. mask is repeated to the
// shape of x as [Add] does: for scores of shape [N H Q L] it may be [N L], the positions of an example that are in use.
// It gets no gradient.
func MaskedSoftmax(x, mask *Node) *Node { return apply("", maskedSoftmax{}, x, mask) }

// maskedSoftmax has an optional mask as its second input.
type maskedSoftmax struct {
	Causal bool `json:"causal,omitempty"` // leaves out elements above the diagonal of the last two dimensions
}

func (maskedSoftmax) kind() string { return "masked_softmax" }
func (maskedSoftmax) byExample()   {}
func (maskedSoftmax) inPlace()     {}

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

// backward is that of a softmax: elements that are 0 get no gradient, and do not affect others'.
func (maskedSoftmax) backward(c *cell) {
	if x := c.in[0]; x.wanted {
		kernels.SoftmaxRowsGrad(x.grad, c.value, c.grad, c.last(), x.adds())
	}
}
