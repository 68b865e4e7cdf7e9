package nn

import (
	"fmt"
	"math"

	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/optimizer"
)

// NormOptions describe a normalisation.
type NormOptions struct {
	// Name names the layer: its parameters are Name.w_0 (scale) and Name.b_0 (shift). Empty means layer_norm_0 and so on, or
	// batch_norm_0.
	Name string
	// Epsilon is added to the variance; 0 is 1e-5.
	Epsilon float32
	// Momentum is the share that batch norm's moving mean and variance keep in a step; 0 is 0.9. Layer norm has none, and refuses
	// to be given any.
	Momentum float32
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

// LayerNorm makes every example's numbers have mean 0 and variance 1, then scales and shifts each (Ba et al., 2016). The shape
// stays that of x.
func LayerNorm(x *Node, o NormOptions) *Node {
	if x == nil || x.bad {
		return apply("", layerNorm{}, x)
	}
	if o.Momentum != 0 {
		return x.graph.newNode(o.Name, layerNorm{}).spoil(
			fmt.Errorf("Momentum is %v, but layer norm has no moving averages: leave it out", o.Momentum))
	}
	o = o.withDefaults(x.graph, "layer_norm")
	scale, shift := x.graph.scaleAndShift(o.Name, x.perExample())
	return apply(o.Name, layerNorm{Epsilon: o.Epsilon}, x, scale, shift)
}

type layerNorm struct {
	Epsilon float32 `json:"epsilon"`
}

func (layerNorm) kind() string { return "layer_norm" }

func (l layerNorm) infer(in []*Node) ([]int, error) {
	if err := checkEpsilon(l.Epsilon); err != nil {
		return nil, err
	}
	for _, p := range in[1:] {
		if len(p.shape) != 1 || p.shape[0] != in[0].perExample() {
			return nil, fmt.Errorf("%v does not fit the %d numbers an example of %v", p, in[0].perExample(), in[0])
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
	x, cols := c.in[0].value, c.in[0].cols()
	scale, shift := c.in[1].value, c.in[2].value
	kept := c.scratch(len(x) + c.rows())
	for r := range c.rows() {
		row, normal := x[r*cols:(r+1)*cols], kept[r*cols:(r+1)*cols]
		mean, variance := moments(row)
		inverse := 1 / math.Sqrt(variance+float64(l.Epsilon))
		kept[len(x)+r] = float32(inverse)
		y := c.value[r*cols : (r+1)*cols]
		for i, v := range row {
			n := float32((float64(v) - mean) * inverse)
			normal[i], y[i] = n, n*scale[i]+shift[i]
		}
	}
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
	x, scale, shift := c.in[0], c.in[1], c.in[2]
	cols, kept := x.cols(), c.scratch(len(x.value)+c.rows())
	if scale.wanted {
		addProducts(scale.sum(), c.grad, kept)
	}
	if shift.wanted {
		kernels.SumRows(shift.grad, c.grad, shift.adds())
	}
	if !x.wanted {
		return
	}
	dx := x.sum()
	for r := range c.rows() {
		at := r * cols
		normalGrad(dx[at:at+cols], c.grad[at:at+cols], kept[at:at+cols], scale.value, kept[len(x.value)+r])
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
