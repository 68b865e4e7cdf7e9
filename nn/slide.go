package nn

import (
	"fmt"

	"github.com/gofleet/gofleet/internal/kernels"
)

// sliding is a convolution along the positions of x, [N L C], without padding: a linear layer, with weights [kernel·C
// F] and a bias, on the elements under a filter at each position, which are read in place, as overlapping rows.
type sliding struct {
	Kernel   int `json:"kernel"`
	Dilation int `json:"dilation,omitempty"` // 0 means 1
}

func (sliding) kind() string  { return "conv1d" }
func (sliding) overwritable() {}

func (o sliding) infer(in []*Node) ([]int, error) {
	x, w := in[0], in[1]
	if len(x.shape) != 3 || x.shape[0] != batch || o.Kernel < 1 || o.Dilation < 0 || len(w.shape) != 2 ||
		w.shape[0] != o.Kernel*x.shape[2] || len(in) > 2 && !equalShapes(in[2].shape, w.shape[1:]) {
		return nil, fmt.Errorf("a kernel of %d and weights %v don't fit %v: shapes [N L C] and [kernel·C F] are needed",
			o.Kernel, w, x)
	}
	places := x.shape[1] - (o.Kernel-1)*max(1, o.Dilation)
	if max(o.Kernel, o.Dilation) > widest || places < 1 {
		return nil, fmt.Errorf("a kernel of %d does not fit into %v", o.Kernel, x)
	}
	return []int{batch, places, w.shape[1]}, wantFloat(in)
}

// slideWeights is the part of a step that several cores divide by column of the filters; they divide the other parts by
// example.
const slideWeights = backward + 1

func (o sliding) forward(c *cell) { c.deal(onward, c.rows(), 1) }

func (o sliding) backward(c *cell) {
	x, w := c.in[0], c.in[1]
	if len(c.in) > 2 && c.in[2].wanted {
		kernels.SumRows(c.in[2].grad, c.grad, c.in[2].adds())
	}
	if w.wanted {
		w.sum() // products are added
		c.deal(slideWeights, o.Kernel, 1)
	}
	if x.wanted {
		x.sum()
		c.deal(backward, c.rows(), 1)
	}
}

func (o sliding) units(c *cell, from, to, part int) {
	x, w, places, filters, d := c.in[0], c.in[1], c.shape[1], c.shape[2], c.in[0].shape[2]
	switch part {
	case onward:
		o.each(0, o.Kernel, func(k, n int) {
			kernels.GemmViews(to-from, places, filters, n*d, o.met(x, x.value, from, k), o.weights(c, w.value, k),
				o.own(c, c.value, from), k > 0)
		})
		if len(c.in) > 2 {
			kernels.AddBias(c.value[from*c.cols():to*c.cols()], c.in[2].value)
		}
	case backward:
		for k := o.Kernel - 1; k >= 0; k-- {
			kernels.GemmViews(to-from, places, d, filters, o.own(c, c.grad, from), o.weights(c, w.value, k).Turned(),
				o.met(x, x.grad, from, k), true)
		}
	case slideWeights:
		o.each(from, to, func(k, n int) {
			kernels.GemmViews(c.rows(), n*d, filters, places, o.met(x, x.value, 0, k).Turned(), o.own(c, c.grad, 0),
				o.weights(c, w.grad, k), true)
		})
	}
}

// each calls f for columns of filters: for all at once if the elements under them are contiguous.
func (o sliding) each(from, to int, f func(k, n int)) {
	if o.Dilation <= 1 {
		f(from, to-from)
		return
	}
	for k := from; k < to; k++ {
		f(k, 1)
	}
}

// met returns the numbers of x under the columns of filters from k on, one matrix an example: row i is for position i.
func (o sliding) met(x *cell, numbers []float32, example, k int) kernels.View {
	d := x.shape[2]
	return kernels.View{Data: numbers[(example*x.shape[1]+k*max(1, o.Dilation))*d:], Row: d, Col: 1, Step: x.cols()}
}

// own returns numbers of the cell, one matrix an example.
func (sliding) own(c *cell, numbers []float32, example int) kernels.View {
	return kernels.View{Data: numbers[example*c.cols():], Row: c.shape[2], Col: 1, Step: c.cols()}
}

// weights returns the numbers for the columns of filters from k on.
func (sliding) weights(c *cell, numbers []float32, k int) kernels.View {
	filters := c.shape[2]
	return kernels.View{Data: numbers[k*c.in[0].shape[2]*filters:], Row: filters, Col: 1}
}
