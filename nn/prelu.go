package nn

import (
	"fmt"

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
	norm := x
	if len(x.shape) == 3 {
		norm = Transpose(x, 0, 2, 1)
	}
	norm = apply(name+".norm", batchNorm{Epsilon: 1e-9, Momentum: 0.9}, norm,
		frozen(".scale", 1), frozen(".shift", 0), frozen(".w_1", 0), frozen(".w_2", 1))
	if len(x.shape) == 3 {
		norm = Transpose(norm, 0, 2, 1)
	}
	low := Multiply(x, g.dense(name+".w_0", []int{units}, nil, false))
	return Add(low, Multiply(Sigmoid(norm), Subtract(x, low)))
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
