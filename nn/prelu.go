package nn

import (
	"fmt"

	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/optimizer"
)

// PReLU is x above 0 and slope·x below, where the slopes are trained, from 0.25 on (He et al., 2015). Each unit, a
// place in the last dimension, has one; of images, of shape [N C H W], each channel. They are the parameter
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

// Dice is p·x + (1−p)·slope·x, p being the Sigmoid of x, normalised over the batch as [BatchNorm] does, whose moving
// averages evaluations take, and the slopes trained, from 0 on (Zhou et al., 2018). The units are the places in the
// last dimension, in whatever number of positions: x has shape [N D] or [N L D].
func Dice(x *Node) *Node {
	if x == nil || x.bad || len(x.shape) != 2 && len(x.shape) != 3 {
		return apply("", prelu{}, x, x)
	}
	g, name, units := x.graph, x.graph.free("dice"), x.shape[len(x.shape)-1]
	frozen := func(part string, value float32) *Node {
		return g.dense(name+part, []int{units}, optimizer.Constant{Value: value}, true)
	}
	norm := apply(name+".norm", batchNorm{Epsilon: 1e-9, Momentum: 0.9, Last: true}, x,
		frozen(".scale", 1), frozen(".shift", 0), frozen(".w_1", 0), frozen(".w_2", 1))
	return apply(name, dice{}, x, norm, g.dense(name+".w_0", []int{units}, nil, false))
}

// dice has x, what normalised it, and slopes of the last dimension: x·(p + (1−p)·slope), p being Sigmoid(norm).
type dice struct{}

func (dice) kind() string { return "dice" }

func (dice) infer(in []*Node) ([]int, error) {
	x, norm, slope := in[0], in[1], in[2]
	if len(x.shape) < 2 || !equalShapes(x.shape, norm.shape) || !equalShapes(slope.shape, x.shape[len(x.shape)-1:]) {
		return nil, fmt.Errorf("input %v, normalised %v and slopes %v don't fit: shapes [N … D], the same and [D] are "+
			"needed", x, norm, slope)
	}
	return x.shape, wantFloat(in)
}

// room has p and what x is multiplied by, and two numbers of each unit.
func (dice) room(c *cell) (p, factor, rest, one []float32) {
	n, units := len(c.value), c.last()
	all := c.scratch(2*n + 2*units)
	return all[:n], all[n : 2*n], all[2*n : 2*n+units], all[2*n+units:]
}

func (d dice) forward(c *cell) {
	x, slope, units := c.in[0].value, c.in[2].value, c.last()
	p, factor, rest, _ := d.room(c)
	kernels.Scaled(rest, slope, 1, -1) // 1 − slope
	for at := 0; at < len(x); at += units {
		p, factor := p[at:at+units], factor[at:at+units]
		kernels.Sigmoid(p, c.in[1].value[at:at+units])
		kernels.Mul(factor, p, rest)
		kernels.Add(factor, factor, slope)
		kernels.Mul(c.value[at:at+units], x[at:at+units], factor)
	}
}

func (d dice) backward(c *cell) {
	x, norm, slope, units := c.in[0], c.in[1], c.in[2], c.last()
	p, factor, rest, d1 := d.room(c)
	for _, in := range c.in {
		if in.wanted {
			in.sum() // the loop below only adds
		}
	}
	for at := 0; at < len(c.grad); at += units {
		p, dy := p[at:at+units], c.grad[at:at+units]
		if x.wanted {
			kernels.AddMul(x.grad[at:at+units], dy, factor[at:at+units])
		}
		kernels.Scaled(d1, p, 1, -1)
		kernels.Mul(d1, d1, dy)
		kernels.Mul(d1, d1, x.value[at:at+units]) // (1 − p)·dy·x
		if slope.wanted {
			addTo(slope.grad, d1)
		}
		if norm.wanted {
			kernels.Mul(d1, d1, p)
			kernels.AddMul(norm.grad[at:at+units], d1, rest)
		}
	}
}

// prelu has slopes as its second input, of a shape that is repeated to the first's.
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
