package nn

import (
	"fmt"
	"math"

	"github.com/gofleet/gofleet/optimizer"
)

// BatchNorm makes every channel, the second dimension of x, have mean 0 and variance 1 over the batch (and over
// positions, for x of shape [N C H W]), then scales and shifts it (Ioffe and Szegedy, 2015).
//
// An evaluation takes moving averages of mean and variance instead, which are frozen parameters Name.w_1 and Name.w_2.
// No rule changes them: training moves them in the executor by moving·momentum + batch·(1−momentum). A
// channel whose mean or variance is not finite in a batch moves nothing. The executor hands them to a trainer that has
// a method SetDense(name string, w []float32) error after each step; of several executors the last one's count. In a
// fleet each worker has its own, until workers meet (at a barrier, in a gather, at the evaluations of fleet/train):
// then all have the mean. What is saved has those of the worker that saves.
func BatchNorm(x *Node, o NormOptions) *Node {
	if x == nil || x.bad || len(x.shape) < 2 {
		return apply("", batchNorm{}, x)
	}
	g, channels := x.graph, x.shape[1]
	if o.Axis != 0 {
		return g.newNode(o.Name, batchNorm{}).spoil(fmt.Errorf("Axis is %d, but batch norm is over the batch: leave "+
			"it out", o.Axis))
	}
	o = o.withDefaults(g, "batch_norm")
	scale, shift := g.scaleAndShift(o.Name, channels)
	mean := g.dense(o.Name+".w_1", []int{channels}, nil, true)
	variance := g.dense(o.Name+".w_2", []int{channels}, optimizer.Constant{Value: 1}, true)
	return apply(o.Name, batchNorm{Epsilon: o.Epsilon, Momentum: o.Momentum}, x, scale, shift, mean, variance)
}

type batchNorm struct {
	Epsilon  float32 `json:"epsilon"`
	Momentum float32 `json:"momentum"`
}

func (batchNorm) kind() string { return "batch_norm" }

func (b batchNorm) infer(in []*Node) ([]int, error) {
	x := in[0]
	if err := checkEpsilon(b.Epsilon); err != nil {
		return nil, err
	}
	if !(b.Momentum >= 0 && b.Momentum <= 1) {
		return nil, fmt.Errorf("momentum is %v: it is the share that moving averages keep, from 0 to 1", b.Momentum)
	}
	if len(x.shape) < 2 || x.shape[0] != batch {
		return nil, fmt.Errorf("input %v has no channels: shape [N C …] is needed", x)
	}
	for _, p := range in[1:] {
		if len(p.shape) != 1 || p.shape[0] != x.shape[1] {
			return nil, fmt.Errorf("%v does not fit the channels of %v", p, x)
		}
	}
	for _, p := range in[3:] {
		if v, ok := p.op.(variable); !ok || !v.param.Frozen {
			return nil, fmt.Errorf("moving average %v is not a frozen parameter", p)
		}
	}
	return x.shape, wantFloat(in)
}

// channels calls f for every channel with the beginnings of its runs of positions, one run an example.
func channels(c *cell, f func(channel int, runs func(yield func(at int) bool), width int)) {
	n, width := c.shape[1], product(c.shape[2:])
	for channel := range n {
		f(channel, func(yield func(int) bool) {
			for r := range c.rows() {
				if !yield((r*n + channel) * width) {
					return
				}
			}
		}, width)
	}
}

func (b batchNorm) forward(c *cell) {
	if !c.train {
		b.evaluate(c)
		return
	}
	if len(c.shape) == 2 {
		b.forwardRows(c)
		return
	}
	x, kept := c.in[0].value, c.scratch(len(c.value)+c.shape[1])
	channels(c, func(ch int, runs func(func(int) bool), width int) {
		mean, variance := channelMoments(x, runs, width, c.rows()*width)
		inverse := 1 / math.Sqrt(variance+float64(b.Epsilon))
		b.settle(c, ch, mean, variance, inverse)
		scale, shift := c.in[1].value[ch], c.in[2].value[ch]
		for at := range runs {
			normal, y := kept[at:at+width], c.value[at:at+width]
			for i, v := range x[at : at+width] {
				n := float32((float64(v) - mean) * inverse)
				normal[i], y[i] = n, n*scale+shift
			}
		}
	})
}

// settle keeps 1/deviation of a channel, behind the normalised numbers, for backward, and moves the averages, unless
// the batch has no finite moments: its gradient may be skipped, and averages have to be numbers after it.
func (b batchNorm) settle(c *cell, ch int, mean, variance, inverse float64) {
	c.scratch(len(c.value) + c.shape[1])[len(c.value)+ch] = float32(inverse)
	m, v := float32(mean), float32(variance)
	if m-m != 0 || v-v != 0 { // NaN or an infinity
		return
	}
	c.in[3].move(ch, m, b.Momentum)
	c.in[4].move(ch, v, b.Momentum)
}

func channelMoments(x []float32, runs func(func(int) bool), width, n int) (mean, variance float64) {
	for at := range runs {
		mean += sum64(x[at : at+width])
	}
	mean /= float64(n)
	for at := range runs {
		for _, v := range x[at : at+width] {
			d := float64(v) - mean
			variance += d * d
		}
	}
	return mean, variance / float64(n)
}

func (b batchNorm) evaluate(c *cell) {
	x, mean, variance := c.in[0].value, c.in[3].value, c.in[4].value
	channels(c, func(ch int, runs func(func(int) bool), width int) {
		factor := c.in[1].value[ch] / float32(math.Sqrt(float64(variance[ch]+b.Epsilon)))
		for at := range runs {
			for i := at; i < at+width; i++ {
				c.value[i] = (x[i]-mean[ch])*factor + c.in[2].value[ch]
			}
		}
	})
}

func (b batchNorm) backward(c *cell) {
	x, scale := c.in[0], c.in[1]
	kept, n := c.scratch(len(c.value)+c.shape[1]), float64(len(c.value)/c.shape[1])
	for _, p := range c.in[:3] {
		if p.wanted {
			p.sum() // the loops below only add
		}
	}
	if len(c.shape) == 2 {
		b.backwardRows(c)
		return
	}
	channels(c, func(ch int, runs func(func(int) bool), width int) {
		var dShift, dScale float64
		for at := range runs {
			dy, normal := c.grad[at:at+width], kept[at:at+width]
			for i, g := range dy {
				dShift += float64(g)
				dScale += float64(g * normal[i])
			}
		}
		c.addChannel(ch, dShift, dScale)
		if !x.wanted {
			return
		}
		factor, a, b := scale.value[ch]*kept[len(c.value)+ch], float32(dShift/n), float32(dScale/n)
		for at := range runs {
			dx, dy, normal := x.grad[at:at+width], c.grad[at:at+width], kept[at:at+width]
			for i := range dx {
				dx[i] += factor * (dy[i] - a - normal[i]*b)
			}
		}
	})
}

// addChannel adds a channel's gradients to those of its scale and shift.
func (c *cell) addChannel(ch int, dShift, dScale float64) {
	if scale := c.in[1]; scale.wanted {
		scale.grad[ch] += float32(dScale)
	}
	if shift := c.in[2]; shift.wanted {
		shift.grad[ch] += float32(dShift)
	}
}
