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

type maskedSoftmax struct{ pairwise }

func (maskedSoftmax) kind() string { return "masked_softmax" }

func (o maskedSoftmax) infer(in []*Node) ([]int, error) {
	shape, err := o.pairwise.infer(in)
	if err == nil && !equalShapes(shape, in[0].shape) {
		err = fmt.Errorf("mask %v does not fit %v: it is repeated to that shape, and no further", in[1], in[0])
	}
	if err == nil {
		err = wantClasses(in[0])
	}
	return shape, err
}

// forward writes the scores that stay to the front of scratch, row by row, takes their softmax, and puts it where they
// were. Behind it scratch has the mask.
func (maskedSoftmax) forward(c *cell) {
	x, cols := c.in[0].value, c.last()
	scratch := c.scratch(len(x) + cols)
	mask, kept := scratch[:len(x)], scratch[len(x):]
	c.pairs(func(i, _, m int) { mask[i] = c.in[1].value[m] })
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

// backward is that of a softmax: what is 0 gets no gradient, and has no part in that of others.
func (maskedSoftmax) backward(c *cell) {
	if x := c.in[0]; x.wanted {
		kernels.SoftmaxRowsGrad(x.grad, c.value, c.grad, c.last(), x.adds())
	}
}
