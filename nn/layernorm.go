package nn

import (
	"fmt"
	"math"

	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/optimizer"
)

// NormOptions describe a normalisation.
type NormOptions struct {
	// Name names the layer: its parameters are Name.w_0 (scale) and Name.b_0 (shift). Empty means layer_norm_0 and so
	// on, or batch_norm_0.
	Name string
	// Epsilon is added to the variance; 0 means 1e-5.
	Epsilon float32
	// Momentum is the fraction of batch norm's moving mean and variance that is kept in a step; 0 means 0.9. Layer norm
	// has none and refuses it.
	Momentum float32
	// Axis is the first axis, counted with the batch as 0, over which layer norm normalises; it includes all later
	// axes. 0 means 1, all numbers of an example; for x of shape [N L D], 2 normalises each position by itself
	// (PaddlePaddle's begin_norm_axis). Batch norm and group norm refuse it.
	Axis int
}

func (o NormOptions) withDefaults(g *Graph, kind string) NormOptions {
	if o.Name == "" {
		o.Name = g.free(kind)
	}
	if o.Epsilon == 0 {
		o.Epsilon = 1e-5
	}
	if o.Momentum == 0 {
		o.Momentum = 0.9
	}
	return o
}

// scaleAndShift returns the two trained parameters of a normalisation, initially 1 and 0.
func (g *Graph) scaleAndShift(name string, size int) (scale, shift *Node) {
	scale = g.dense(name+".w_0", []int{size}, optimizer.Constant{Value: 1}, false)
	return scale, g.dense(name+".b_0", []int{size}, nil, false)
}

// LayerNorm makes every example's numbers, or with [NormOptions].Axis the numbers of each of its positions, have mean 0
// and variance 1, then scales and shifts each (Ba et al., 2016). The shape is x's.
func LayerNorm(x *Node, o NormOptions) *Node {
	if x == nil || x.bad {
		return apply("", layerNorm{}, x)
	}
	if o.Momentum != 0 {
		return x.graph.newNode(o.Name, layerNorm{}).spoil(
			fmt.Errorf("Momentum is %v, but layer norm has no moving averages: leave it out", o.Momentum))
	}
	o = o.withDefaults(x.graph, "layer_norm")
	l := layerNorm{Epsilon: o.Epsilon, Axis: o.Axis}
	size, err := l.cols(x)
	if err != nil {
		return x.graph.newNode(o.Name, l).spoil(err)
	}
	scale, shift := x.graph.scaleAndShift(o.Name, size)
	return apply(o.Name, l, x, scale, shift)
}

// layerNorm has the inputs x and, optionally, scale and shift.
type layerNorm struct {
	Epsilon float32 `json:"epsilon"`
	Axis    int     `json:"axis,omitempty"`
}

func (layerNorm) kind() string { return "layer_norm" }
func (layerNorm) byExample()   {}

// cols is the number of elements that are normalised together.
func (l layerNorm) cols(x *Node) (int, error) {
	if l.Axis < 0 || l.Axis > 0 && l.Axis >= len(x.shape) {
		return 0, fmt.Errorf("input %v has no axis %d after the batch", x, l.Axis)
	}
	return product(x.shape[min(max(l.Axis, 1), len(x.shape)):]), nil
}

func (l layerNorm) infer(in []*Node) ([]int, error) {
	if err := checkEpsilon(l.Epsilon); err != nil {
		return nil, err
	}
	cols, err := l.cols(in[0])
	if err != nil {
		return nil, err
	}
	if len(in) == 2 {
		return nil, fmt.Errorf("%v is a scale without a shift", in[1])
	}
	for _, p := range in[1:] {
		if len(p.shape) != 1 || p.shape[0] != cols {
			return nil, fmt.Errorf("%v does not fit the %d numbers that are made alike of %v", p, cols, in[0])
		}
	}
	return in[0].shape, wantFloat(in)
}

// checkEpsilon returns an error for values that would make a normalised number infinite or NaN.
func checkEpsilon(epsilon float32) error {
	if epsilon > 0 {
		return nil
	}
	return fmt.Errorf("epsilon is %v: it must be above 0", epsilon)
}

// forward stores the normalised numbers, followed by 1/deviation of every row, for backward.
func (l layerNorm) forward(c *cell) {
	x := c.in[0].value
	cols, kept := l.kept(c)
	inverses := kept[len(x):]
	for at := 0; at < len(x); at += cols {
		normal, y := kept[at:at+cols], c.value[at:at+cols]
		inverse := l.normalise(normal, x[at:at+cols])
		inverses[at/cols] = inverse
		if len(c.in) == 1 {
			copy(y, normal)
			continue
		}
		kernels.Mul(y, normal, c.in[1].value)
		kernels.Add(y, y, c.in[2].value)
	}
}

// normalise writes a row with mean 0 and variance 1 to dst, and returns 1/deviation. It subtracts the remaining mean, a
// rounding error, once more, so that numbers far from 0 keep their differences.
func (l layerNorm) normalise(dst, x []float32) (inverse float32) {
	n := float32(len(x))
	kernels.Scaled(dst, x, kernels.Sum(x)/n, 1)
	rest := kernels.Sum(dst) / n
	kernels.Scaled(dst, dst, rest, 1)
	square := kernels.Dot(dst, dst)
	if !(square <= math.MaxFloat32) {
		return l.normaliseWide(dst, x)
	}
	inverse = float32(1 / math.Sqrt(float64(square/n+l.Epsilon)))
	kernels.Scale(inverse, dst)
	return inverse
}

// normaliseWide is normalise in float64, for a row whose squares are too large for float32.
func (l layerNorm) normaliseWide(dst, x []float32) (inverse float32) {
	var mean, square float64
	for _, v := range x {
		mean += float64(v) / float64(len(x))
	}
	for _, v := range x {
		d := float64(v) - mean
		square += d * d
	}
	scale := 1 / math.Sqrt(square/float64(len(x))+float64(l.Epsilon))
	for i, v := range x {
		dst[i] = float32((float64(v) - mean) * scale)
	}
	return float32(scale)
}

// kept returns the length of a row, and the memory that forward keeps: the normalised numbers, 1/deviation of each row,
// and a row for backward.
func (l layerNorm) kept(c *cell) (cols int, kept []float32) {
	cols = product(c.shape[min(max(l.Axis, 1), len(c.shape)):])
	return cols, c.scratch(len(c.value) + len(c.value)/cols + cols)
}

func (l layerNorm) backward(c *cell) {
	x := c.in[0]
	cols, kept := l.kept(c)
	room, inverses := kept[len(kept)-cols:], kept[len(x.value):]
	if len(c.in) > 1 {
		if c.in[1].wanted {
			addProducts(c.in[1].sum(), c.grad, kept)
		}
		if shift := c.in[2]; shift.wanted {
			kernels.SumRows(shift.grad, c.grad, shift.adds())
		}
	}
	if !x.wanted {
		return
	}
	dx := x.sum()
	for at := 0; at < len(dx); at += cols {
		if copy(room, c.grad[at:at+cols]); len(c.in) > 1 {
			kernels.Mul(room, room, c.in[1].value)
		}
		normalGrad(dx[at:at+cols], room, kept[at:at+cols], inverses[at/cols])
	}
}

// normalGrad adds to dx the gradient of a row through its normalisation: (h − mean(h) − n·mean(h·n))/deviation; n is
// the normalised row and h its gradient, which is overwritten.
func normalGrad(dx, h, normal []float32, inverse float32) {
	size := float32(len(h))
	mean, along := kernels.Sum(h)/size, kernels.Dot(h, normal)/size
	kernels.Axpy(-along, normal, h)
	kernels.Scaled(h, h, mean, inverse)
	addTo(dx, h)
}

// GroupNorm makes groups of an example's channels, the second dimension of x, have mean 0 and variance 1 over all their
// positions, then scales and shifts each channel (Wu and He, 2018). With a group for each channel it is instance norm.
// It has no moving averages: evaluations and small batches see what training does.
func GroupNorm(x *Node, groups int, o NormOptions) *Node {
	if x == nil || x.bad {
		return apply("", layerNorm{}, x)
	}
	g := x.graph
	if err := o.ofGroups(x, groups); err != nil {
		return g.newNode(o.Name, layerNorm{}, x).spoil(fmt.Errorf("GroupNorm: %w", err))
	}
	o = o.withDefaults(g, "group_norm")
	channel := make([]int, len(x.shape)-1) // the shape of a number for each channel, repeated to its positions
	for i := range channel {
		channel[i] = 1
	}
	channel[0] = x.shape[1]
	scale, shift := g.scaleAndShift(o.Name, x.shape[1])
	normal := apply(o.Name+".norm", layerNorm{Epsilon: o.Epsilon, Axis: 2}, Reshape(x, groups, x.perExample()/groups))
	normal = Reshape(normal, x.shape[1:]...)
	return apply(o.Name, add{}, Multiply(normal, Reshape(scale, channel...)), Reshape(shift, channel...))
}

// ofGroups returns an error for options that group norm does not support.
func (o NormOptions) ofGroups(x *Node, groups int) error {
	switch {
	case o.Momentum != 0:
		return fmt.Errorf("Momentum is %v, but group norm has no moving averages: leave it out", o.Momentum)
	case o.Axis != 0:
		return fmt.Errorf("Axis is %d, but group norm is over channels: leave it out", o.Axis)
	case len(x.shape) < 2 || x.shape[0] != batch || groups < 1 || x.shape[1]%groups != 0:
		return fmt.Errorf("input %v has no channels that make %d groups: shape [N C …] is needed", x, groups)
	}
	return nil
}
