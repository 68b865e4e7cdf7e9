package nn

import (
	"fmt"

	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/optimizer"
)

// ConvOptions describe a convolution.
type ConvOptions struct {
	// Name names the layer: its parameters are Name.w_0, of shape [filters C Kernel Kernel], and Name.b_0, of shape [filters].
	// Empty means conv2d_0 and so on.
	Name string
	// Kernel is the height and width of a filter.
	Kernel int
	// Stride is the distance of two positions; 0 is 1.
	Stride int
	// Padding is the number of zeros on each side.
	Padding int
	// Act is applied to the result; nil means nothing.
	Act func(*Node) *Node
	// Init gives the filters' initial values; nil is KaimingNormal.
	Init optimizer.Initializer
	// BiasInit gives the bias' initial values; nil is zero.
	BiasInit optimizer.Initializer
	// NoBias leaves the bias out.
	NoBias bool
}

// Conv2D slides filters over x of shape [N C H W]; the result has shape [N filters H' W'], H' = (H+2·Padding−Kernel)/Stride + 1
// rounded down, and W' likewise.
func Conv2D(x *Node, filters int, o ConvOptions) *Node {
	if x == nil || x.bad || len(x.shape) != 4 {
		return apply("", conv2d{}, x)
	}
	g, name, init := x.graph, o.Name, o.Init
	if name == "" {
		name = g.free("conv2d")
	}
	if init == nil {
		init = KaimingNormal{}
	}
	in := []*Node{x, g.dense(name+".w_0", []int{filters, x.shape[1], o.Kernel, o.Kernel}, init, false)}
	if !o.NoBias {
		in = append(in, g.dense(name+".b_0", []int{filters}, o.BiasInit, false))
	}
	if o.Stride == 0 {
		o.Stride = 1
	}
	y := apply(name, conv2d{window{o.Kernel, o.Stride, o.Padding}}, in...)
	if o.Act != nil {
		y = o.Act(y)
	}
	return y
}

// conv2d has filters as its second input, and may have a bias as its third.
type conv2d struct{ window }

func (conv2d) kind() string  { return "conv2d" }
func (conv2d) overwritable() {}

func (o conv2d) infer(in []*Node) ([]int, error) {
	shape, err := o.slide(in[0])
	if err != nil {
		return nil, err
	}
	x, w := in[0], in[1]
	if len(w.shape) != 4 || !equalShapes(w.shape[1:], []int{x.shape[1], o.Kernel, o.Kernel}) {
		return nil, fmt.Errorf("filters %v don't fit %v", w, x)
	}
	if len(in) > 2 && !equalShapes(in[2].shape, w.shape[:1]) {
		return nil, fmt.Errorf("bias %v does not fit filters %v", in[2], w)
	}
	shape[1] = w.shape[0]
	return shape, wantFloat(in)
}

// forward multiplies, image by image, the filters [out C·K·K] with the image's patches [C·K·K positions].
func (o conv2d) forward(c *cell) {
	x, w := c.in[0], c.in[1]
	out, depth, positions := o.sizes(c)
	patches := c.scratch(depth * positions)
	for r := range c.rows() {
		o.gather(patches, x, c, r)
		y := c.row(r)
		kernels.Gemm(false, false, out, positions, depth, w.value, patches, y, false)
		if len(c.in) > 2 {
			addToRuns(y, c.in[2].value, positions)
		}
	}
}

// sizes are the number of filters, of numbers a patch, and of positions.
func (o conv2d) sizes(c *cell) (out, depth, positions int) {
	return c.shape[1], c.in[1].cols(), c.shape[2] * c.shape[3]
}

// addToRuns adds bias[i] to the i-th run of y.
func addToRuns(y, bias []float32, run int) {
	for i, b := range bias {
		for j := i * run; j < (i+1)*run; j++ {
			y[j] += b
		}
	}
}

func (o conv2d) backward(c *cell) {
	x, w := c.in[0], c.in[1]
	if len(c.in) > 2 && c.in[2].wanted {
		o.biasGrad(c, c.in[2].sum())
	}
	if x.wanted {
		x.sum() // spread only adds
	}
	out, depth, positions := o.sizes(c)
	patches := c.scratch(depth * positions)
	for r := range c.rows() {
		dy := c.grad[r*out*positions : (r+1)*out*positions]
		if w.wanted {
			o.gather(patches, x, c, r)
			kernels.Gemm(false, true, out, depth, positions, dy, patches, w.grad, w.adds())
		}
		if x.wanted {
			kernels.Gemm(true, false, depth, positions, out, w.value, dy, patches, false)
			o.spread(patches, x, c, r)
		}
	}
}

func (conv2d) biasGrad(c *cell, db []float32) {
	positions := c.shape[2] * c.shape[3]
	for i := range c.rows() * len(db) {
		db[i%len(db)] += kernels.Sum(c.grad[i*positions : (i+1)*positions])
	}
}
