package nn

import (
	"fmt"

	"github.com/gofleet/gofleet/internal/kernels"
)

// MaskedSoftmax makes the last dimension of x a distribution over the places where mask is not 0: eˣ over the sum of eˣ
// there, and 0 at the others. Where all places are left out, all are 0, and none has a gradient. mask is repeated to
// the shape of x as [Add] does: for scores of shape [N H Q L] it may be [N L], the places of an example that have
// something. It gets no gradient.
func MaskedSoftmax(x, mask *Node) *Node { return apply("", maskedSoftmax{}, x, mask) }

// maskedSoftmax has a mask as its second input, or none.
type maskedSoftmax struct {
	Causal bool `json:"causal,omitempty"` // leaves out what is behind the diagonal of the last two dimensions
}

func (maskedSoftmax) kind() string { return "masked_softmax" }

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

// forward writes the scores that stay to the front of scratch, row by row, takes their softmax, and puts it where they
// were. Behind it scratch has the mask.
func (o maskedSoftmax) forward(c *cell) {
	x, cols := c.in[0].value, c.last()
	scratch := c.scratch(len(x) + cols)
	mask, kept := scratch[:len(x)], scratch[len(x):]
	o.mask(c, mask)
	for at := 0; at < len(x); at += cols {
		n := 0
		for i, m := range mask[at : at+cols] {
			if m != 0 {
				kept[n] = x[at+i]
				n++
			}
		}
		if n > 0 {
			kernels.SoftmaxRows(kept[:n], kept[:n], n)
		}
		n = 0
		for i, m := range mask[at : at+cols] {
			if c.value[at+i] = 0; m != 0 {
				c.value[at+i] = kept[n]
				n++
			}
		}
	}
}

// mask writes what stays, for each element of x.
func (o maskedSoftmax) mask(c *cell, mask []float32) {
	if len(c.in) > 1 {
		c.spread(mask, 1)
	} else {
		for i := range mask {
			mask[i] = 1
		}
	}
	if !o.Causal {
		return
	}
	cols, rows := c.last(), c.shape[len(c.shape)-2]
	for at := 0; at < len(mask); at += cols {
		row := at / cols % rows
		clear(mask[at+min(row+1, cols) : at+cols])
	}
}

// backward is that of a softmax: what is 0 gets no gradient, and has no part in that of others.
func (maskedSoftmax) backward(c *cell) {
	if x := c.in[0]; x.wanted {
		kernels.SoftmaxRowsGrad(x.grad, c.value, c.grad, c.last(), x.adds())
	}
}
