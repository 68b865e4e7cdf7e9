package nn

import (
	"fmt"
	"math"

	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/optimizer"
)

// PReLU is x above 0 and slope·x below, with trained slopes that begin at 0.25 (He et al., 2015). Each unit, a position
// in the last dimension, has a slope; in images, of shape [N C H W], each channel. The slopes are the parameter
// prelu_0.w_0, prelu_1.w_0 and so on.
func PReLU(x *Node) *Node {
	if x == nil || x.bad || len(x.shape) < 2 {
		return apply("", prelu{}, x, x)
	}
	shape := x.shape[len(x.shape)-1:]
	if len(x.shape) == 4 {
		shape = []int{x.shape[1], 1, 1}
	}
	name := x.graph.free("prelu")
	return apply(name, prelu{}, x, x.graph.dense(name+".w_0", shape, optimizer.Constant{Value: 0.25}, false))
}

// Dice is p·x + (1−p)·slope·x, where p is the Sigmoid of x normalised over the batch as in [BatchNorm], with moving
// averages for evaluations, and the slopes are trained and begin at 0 (Zhou et al., 2018). Each unit, a position in the
// last dimension, has a slope: x has shape [N D] or [N L D].
func Dice(x *Node) *Node {
	if x == nil || x.bad || len(x.shape) != 2 && len(x.shape) != 3 {
		return apply("", prelu{}, x, x)
	}
	g, name, units := x.graph, x.graph.free("dice"), x.shape[len(x.shape)-1]
	frozen := func(part string, value float32) *Node {
		return g.dense(name+part, []int{units}, optimizer.Constant{Value: value}, true)
	}
	norm := batchNorm{Epsilon: 1e-9, Momentum: 0.9, Last: true}
	return apply(name, dice{norm}, x, frozen(".scale", 1), frozen(".shift", 0), frozen(".w_1", 0), frozen(".w_2", 1),
		g.dense(name+".w_0", []int{units}, nil, false))
}

// dice has the inputs of a batch norm with scale 1 and shift 0, and slopes: it is x·(slope + p·(1−slope)); p is the
// Sigmoid of the normalised x.
type dice struct{ batchNorm }

func (dice) kind() string { return "dice" }

func (d dice) infer(in []*Node) ([]int, error) {
	d.Last = true
	if x := in[0]; len(x.shape) < 2 || !equalShapes(in[5].shape, x.shape[len(x.shape)-1:]) {
		return nil, fmt.Errorf("input %v can't have slopes %v: shapes [N … D] and [D] are needed", x, in[5])
	}
	return d.batchNorm.infer(in[:5])
}

// room returns the memory of p; for some units, four numbers of each, repeated for the rows that are computed together;
// and mean and factor of the normalisation, repeated likewise.
func (d dice) room(c *cell, from, to int, mean, factor []float64) (p []float32, rows [4][]float32, m, f []float64) {
	n, units := len(c.value), c.last()
	p, all := c.floats[:n], c.floats[n:]
	width := (to - from) * d.together(c, to-from)
	for i := range rows {
		at := i*len(all)/4 + from
		rows[i] = all[at : at+width]
	}
	if to-from < units || width == units {
		return p, rows, mean, factor
	}
	wide := c.doubles[4*units:]
	return p, rows, repeated(wide[:width], mean), repeated(wide[width:2*width], factor)
}

// together is the number of rows that one call of a kernel computes: several short rows if it has all units.
func (dice) together(c *cell, units int) int {
	if units < c.last() {
		return 1
	}
	return max(1, 256/units)
}

// repeated fills dst with copies of x.
func repeated[T any](dst, x []T) []T {
	for at := 0; at < len(dst); at += len(x) {
		copy(dst[at:], x)
	}
	return dst
}

// averages returns mean and 1/deviation of some units, by which an evaluation normalises.
func (d dice) averages(c *cell, from, to int) (mean, factor []float64) {
	mean, factor = c.quarter(0, from, to), c.quarter(1, from, to)
	for i := range mean {
		mean[i] = float64(c.in[3].value[from+i])
		factor[i] = 1 / math.Sqrt(float64(c.in[4].value[from+i])+float64(d.Epsilon))
	}
	return mean, factor
}

func (d dice) forward(c *cell) {
	units := c.last()
	rows := d.together(c, units)
	c.scratch(len(c.value) + 4*units*rows)
	c.sums((4 + 2*rows) * units)
	c.deal(onward, units, unitsAtATime)
	if c.train {
		d.settleRows(c)
	}
}

func (d dice) backward(c *cell) {
	for _, in := range []*cell{c.in[0], c.in[5]} {
		if in.wanted {
			in.sum() // units only add
		}
	}
	c.deal(backward, c.last(), unitsAtATime)
}

func (d dice) units(c *cell, from, to, part int) {
	if part == backward {
		d.backwardUnits(c, from, to)
	} else {
		d.forwardUnits(c, from, to)
	}
}

func (d dice) forwardUnits(c *cell, from, to int) {
	moments := d.averages
	if c.train {
		moments = d.moments
	}
	x, units := c.in[0].value, c.last()
	mean, factor := moments(c, from, to)
	all, of, mean, factor := d.room(c, from, to, mean, factor)
	rest, room, slope := of[0], of[1], repeated(of[2], c.in[5].value[from:to])
	kernels.Scaled(rest, slope, 1, -1) // 1 − slope
	for at := from; at < len(x); at += units * d.together(c, to-from) {
		n := min(len(rest), len(x)-at)
		x, p, room := x[at:at+n], all[at:at+n], room[:n]
		kernels.Normal(room, x, mean[:n], factor[:n])
		kernels.Sigmoid(p, room)
		kernels.Mul(room, p, rest[:n])
		kernels.Add(room, room, slope[:n])
		kernels.Mul(c.value[at:at+n], x, room)
	}
}

// backwardUnits replaces p by the gradient of the normalised values, some rows at a time, and then passes it to x.
func (d dice) backwardUnits(c *cell, from, to int) {
	x, slope, units, step := c.in[0], c.in[5], c.last(), c.last()*d.together(c, to-from)
	sum, along := c.quarter(2, from, to), c.quarter(3, from, to)
	clear(sum)
	clear(along)
	all, of, mean, factor := d.room(c, from, to, c.quarter(0, from, to), c.quarter(1, from, to))
	rest, slopes := of[0], of[2] // as forward has left them
	for at := from; at < len(c.grad); at += step {
		n := min(len(rest), len(c.grad)-at)
		x, p, dy, room, normal := x.value[at:at+n], all[at:at+n], c.grad[at:at+n], of[1][:n], of[3][:n]
		if c.in[0].wanted {
			kernels.Mul(room, p, rest[:n])
			kernels.Add(room, room, slopes[:n])
			kernels.AddMul(c.in[0].grad[at:at+n], dy, room)
		}
		kernels.Scaled(room, p, 1, -1)
		kernels.Mul(room, room, dy)
		kernels.Mul(room, room, x) // (1 − p)·dy·x
		if slope.wanted {
			kernels.SumRows(slope.grad[from:to], room, true)
		}
		kernels.Mul(p, p, room)
		kernels.Mul(p, p, rest[:n])
		kernels.Normal(normal, x, mean[:n], factor[:n])
		kernels.Mul(normal, normal, p)
		for ; len(p) > 0; p, normal = p[len(sum):], normal[len(sum):] {
			kernels.AddWide(sum, p[:len(sum)])
			kernels.AddWide(along, normal[:len(sum)])
		}
	}
	if !x.wanted {
		return
	}
	rows := float64(len(c.grad) / units)
	less, pull, scale := slopes, rest, of[1]
	for i := range less {
		unit := i % len(sum)
		less[i], pull[i], scale[i] = -float32(sum[unit]/rows), -float32(along[unit]/rows), float32(factor[i])
	}
	for at := from; at < len(c.grad); at += step { // factor·(dy − mean(dy) − normal·mean(dy·normal))
		n := min(len(rest), len(c.grad)-at)
		p, normal := all[at:at+n], of[3][:n]
		kernels.Normal(normal, x.value[at:at+n], mean[:n], factor[:n])
		kernels.Add(p, p, less[:n])
		kernels.AddMul(p, normal, pull[:n])
		kernels.AddMul(x.grad[at:at+n], p, scale[:n])
	}
}

// prelu has slopes as its second input, whose shape is repeated to the first's.
type prelu struct{ pairwise }

func (prelu) kind() string { return "prelu" }

func (p prelu) infer(in []*Node) ([]int, error) {
	shape, err := p.pairwise.infer(in)
	if err != nil || !equalShapes(shape, in[0].shape) || len(in[0].shape) < 2 {
		return nil, fmt.Errorf("input %v can't have slopes %v: shape [N … D] is needed", in[0], in[1])
	}
	return shape, nil
}

func (prelu) forward(c *cell) {
	x, slope := c.in[0].value, c.in[1].value
	c.pairs(func(i, _, s int) {
		if c.value[i] = x[i]; x[i] < 0 {
			c.value[i] *= slope[s]
		}
	})
}

func (prelu) backward(c *cell) {
	x, slope := c.in[0], c.in[1]
	if x.wanted {
		dx := x.sum()
		c.pairs(func(i, _, s int) {
			if x.value[i] < 0 {
				dx[i] += c.grad[i] * slope.value[s]
				return
			}
			dx[i] += c.grad[i]
		})
	}
	if slope.wanted {
		ds := slope.sum()
		c.pairs(func(i, _, s int) { ds[s] += c.grad[i] * min(x.value[i], 0) })
	}
}
