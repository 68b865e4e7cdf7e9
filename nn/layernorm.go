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
	// Epsilon is added to the variance; 0 is 1e-5.
	Epsilon float32
	// Momentum is the share that batch norm's moving mean and variance keep in a step; 0 is 0.9. Layer norm has none,
	// and refuses to be given any.
	Momentum float32
	// Axis is the first of the axes, counted with the batch as 0, over which layer norm makes numbers alike; the others
	// are all behind it. 0 is 1, all of an example; of x with shape [N L D], 2 is each position by itself (the
	// original's begin_norm_axis). Batch norm and group norm refuse it.
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

// scaleAndShift are the two trained parameters of a normalisation, 1 and 0 to begin with.
func (g *Graph) scaleAndShift(name string, size int) (scale, shift *Node) {
	scale = g.dense(name+".w_0", []int{size}, optimizer.Constant{Value: 1}, false)
	return scale, g.dense(name+".b_0", []int{size}, nil, false)
}

// LayerNorm makes every example's numbers, or with [NormOptions].Axis those of each of its positions, have mean 0 and
// variance 1, then scales and shifts each (Ba et al., 2016). The shape stays that of x.
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

// layerNorm has x, and as its second and third input scale and shift, or nothing.
type layerNorm struct {
	Epsilon float32 `json:"epsilon"`
	Axis    int     `json:"axis,omitempty"`
}

func (layerNorm) kind() string { return "layer_norm" }

// cols is how many numbers are made alike.
func (l layerNorm) cols(x *Node) (int, error) {
	if l.Axis < 0 || l.Axis > 0 && l.Axis >= len(x.shape) {
		return 0, fmt.Errorf("input %v has no axis %d behind the batch", x, l.Axis)
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

// checkEpsilon refuses what would make a normalised number infinite, or none.
func checkEpsilon(epsilon float32) error {
	if epsilon > 0 {
		return nil
	}
	return fmt.Errorf("epsilon is %v: it must be above 0", epsilon)
}

// forward keeps the normalised numbers, and behind them 1/deviation of every row, for backward.
func (l layerNorm) forward(c *cell) {
	x := c.in[0].value
	cols, kept := l.kept(c)
	for r := range len(x) / cols {
		row, normal := x[r*cols:(r+1)*cols], kept[r*cols:(r+1)*cols]
		mean, variance := moments(row)
		inverse := 1 / math.Sqrt(variance+float64(l.Epsilon))
		kept[len(x)+r] = float32(inverse)
		for i, v := range row {
			normal[i] = float32((float64(v) - mean) * inverse)
		}
		y := c.value[r*cols : (r+1)*cols]
		if len(c.in) == 1 {
			copy(y, normal)
			continue
		}
		scale, shift := c.in[1].value, c.in[2].value
		for i, n := range normal {
			y[i] = n*scale[i] + shift[i]
		}
	}
}

// kept is the length of a row, and what forward keeps: the normalised numbers, 1/deviation of each row, and a scale of
// 1 where there is none of its own.
func (l layerNorm) kept(c *cell) (cols int, kept []float32) {
	cols = product(c.shape[min(max(l.Axis, 1), len(c.shape)):])
	return cols, c.scratch(len(c.value) + len(c.value)/cols + cols)
}

// moments are mean and variance, the latter by n.
func moments(x []float32) (mean, variance float64) {
	mean = sum64(x) / float64(len(x))
	for _, v := range x {
		d := float64(v) - mean
		variance += d * d
	}
	return mean, variance / float64(len(x))
}

func (l layerNorm) backward(c *cell) {
	x := c.in[0]
	cols, kept := l.kept(c)
	scale := kept[len(kept)-cols:]
	for i := range scale {
		scale[i] = 1
	}
	if len(c.in) > 1 {
		scale = c.in[1].value
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
	for r := range len(dx) / cols {
		at := r * cols
		normalGrad(dx[at:at+cols], c.grad[at:at+cols], kept[at:at+cols], scale, kept[len(dx)+r])
	}
}

// addProducts adds the columns of dy·factor to dst.
func addProducts(dst, dy, factor []float32) {
	for at := 0; at < len(dy); at += len(dst) {
		g, f := dy[at:][:len(dst)], factor[at:][:len(dst)]
		for i := range dst {
			dst[i] += g[i] * f[i]
		}
	}
}

// normalGrad adds to dx the gradient of a row through its normalisation: (h − mean(h) − n·mean(h·n))/deviation, h being
// dy·scale and n the normalised row.
func normalGrad(dx, dy, normal, scale []float32, inverse float32) {
	var meanH, meanHN float64
	for i, g := range dy {
		h := float64(g * scale[i])
		meanH += h
		meanHN += h * float64(normal[i])
	}
	a, b := float32(meanH/float64(len(dy))), float32(meanHN/float64(len(dy)))
	for i, g := range dy {
		dx[i] += inverse * (g*scale[i] - a - normal[i]*b)
	}
}
