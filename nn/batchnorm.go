package nn

import (
	"fmt"
	"math"

	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/optimizer"
)

// BatchNorm makes every channel, the second dimension of x, have mean 0 and variance 1 over the batch (and over
// positions, for x of shape [N C H W]), then scales and shifts it (Ioffe and Szegedy, 2015).
//
// An evaluation takes moving averages of mean and variance instead, which are frozen parameters Name.w_1 and Name.w_2.
// No rule changes them: training moves them in the executor by moving·momentum + batch·(1−momentum). A channel whose
// mean or variance is not finite in a batch moves nothing. The executor hands them to a trainer that has a method
// SetDense(name string, w []float32) error after each step; all executors continue from the values handed over last. In
// a fleet each worker has its own, until workers meet (at a barrier, in a gather, at the evaluations of fleet/train):
// then all have the mean. A saved model has the averages of the worker that saves.
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
	Last     bool    `json:"last,omitempty"` // channels are the last dimension
}

// channels is the number of channels of a shape.
func (b batchNorm) channels(shape []int) int {
	if b.Last {
		return last(shape)
	}
	return shape[1]
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
		if len(p.shape) != 1 || p.shape[0] != b.channels(x.shape) {
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

// run returns the range of an example's channel in x with shape [N C …].
func (batchNorm) run(c *cell, example, channel int) (from, to int) {
	width := product(c.shape[2:])
	from = (example*c.shape[1] + channel) * width
	return from, from + width
}

func (b batchNorm) forward(c *cell) {
	if !c.train {
		b.evaluate(c)
		return
	}
	c.scratch(5*b.channels(c.shape) + len(c.value))
	if b.byRows(c) {
		b.trainRows(c)
		return
	}
	x, kept, inverses := c.in[0].value, b.kept(c), b.columns(c, 0)
	for ch := range inverses {
		mean, variance := b.channelMoments(c, ch)
		inverse := 1 / math.Sqrt(variance+float64(b.Epsilon))
		inverses[ch] = float32(inverse)
		b.settle(c, ch, mean, variance)
		scale, shift := c.in[1].value[ch], c.in[2].value[ch]
		for r := range c.rows() {
			from, to := b.run(c, r, ch)
			normal, y := kept[from:to], c.value[from:to]
			for i, v := range x[from:to] {
				n := float32((float64(v) - mean) * inverse)
				normal[i], y[i] = n, n*scale+shift
			}
		}
	}
}

// byRows reports whether the channels are contiguous in memory, as rows.
func (b batchNorm) byRows(c *cell) bool { return b.Last || len(c.shape) == 2 }

// kept returns the normalised numbers, which backward needs.
func (b batchNorm) kept(c *cell) []float32 { return c.floats[5*b.channels(c.shape):] }

// columns returns one number of each channel: 1/deviation for i = 0, and four more for backward.
func (b batchNorm) columns(c *cell, i int) []float32 {
	n := b.channels(c.shape)
	return c.floats[i*n : (i+1)*n]
}

// settle updates the averages of a channel, unless the batch has no finite moments: its gradient may be skipped, and
// the averages must stay finite.
func (b batchNorm) settle(c *cell, ch int, mean, variance float64) {
	m, v := float32(mean), float32(variance)
	if m-m != 0 || v-v != 0 { // NaN or an infinity
		return
	}
	c.in[3].move(ch, m, b.Momentum)
	c.in[4].move(ch, v, b.Momentum)
}

func (b batchNorm) channelMoments(c *cell, ch int) (mean, variance float64) {
	x, n := c.in[0].value, float64(len(c.value)/c.shape[1])
	for r := range c.rows() {
		from, to := b.run(c, r, ch)
		mean += sum64(x[from:to])
	}
	mean /= n
	for r := range c.rows() {
		from, to := b.run(c, r, ch)
		for _, v := range x[from:to] {
			d := float64(v) - mean
			variance += d * d
		}
	}
	return mean, variance / n
}

func (b batchNorm) evaluate(c *cell) {
	x, mean, variance := c.in[0].value, c.in[3].value, c.in[4].value
	if b.byRows(c) {
		b.evaluateRows(c)
		return
	}
	for ch := range c.shape[1] {
		factor := c.in[1].value[ch] / float32(math.Sqrt(float64(variance[ch]+b.Epsilon)))
		for r := range c.rows() {
			from, to := b.run(c, r, ch)
			for i := from; i < to; i++ {
				c.value[i] = (x[i]-mean[ch])*factor + c.in[2].value[ch]
			}
		}
	}
}

func (b batchNorm) backward(c *cell) {
	x, scale := c.in[0], c.in[1]
	kept, inverse, n := b.kept(c), b.columns(c, 0), float64(len(c.value)/b.channels(c.shape))
	for _, p := range c.in[:3] {
		if p.wanted {
			p.sum() // the loops below only add
		}
	}
	if b.byRows(c) {
		c.deal(backward, c.last(), unitsAtATime)
		return
	}
	for ch := range inverse {
		var dShift, dScale float64
		for r := range c.rows() {
			from, to := b.run(c, r, ch)
			normal := kept[from:to]
			for i, g := range c.grad[from:to] {
				dShift += float64(g)
				dScale += float64(g * normal[i])
			}
		}
		b.addChannel(c, ch, dShift, dScale)
		if !x.wanted {
			continue
		}
		factor, a, along := scale.value[ch]*inverse[ch], float32(dShift/n), float32(dScale/n)
		for r := range c.rows() {
			from, to := b.run(c, r, ch)
			dx, normal := x.grad[from:to], kept[from:to]
			for i, g := range c.grad[from:to] {
				dx[i] += factor * (g - a - normal[i]*along)
			}
		}
	}
}

// addChannel adds a channel's gradients to those of its scale and shift.
func (batchNorm) addChannel(c *cell, ch int, dShift, dScale float64) {
	if scale := c.in[1]; scale.wanted {
		scale.grad[ch] += float32(dScale)
	}
	if shift := c.in[2]; shift.wanted {
		shift.grad[ch] += float32(dShift)
	}
}

// Batch norm with the channels as the last dimension, such as [N C]: row by row, as they lie in memory, so that each of
// several cores can take some channels. The sums are the same as those of forward and backward, in the same order.

// trainRows computes the rows of a training step.
func (b batchNorm) trainRows(c *cell) {
	c.sums(4 * c.last())
	c.deal(onward, c.last(), unitsAtATime)
	b.settleRows(c)
}

// units computes some channels of a training step.
func (b batchNorm) units(c *cell, from, to, part int) {
	if part == backward {
		b.backwardRows(c, from, to)
	} else {
		b.forwardRows(c, from, to)
	}
}

// forwardRows is forward by rows.
func (b batchNorm) forwardRows(c *cell, from, to int) {
	x, n, kept, inverse := c.in[0].value, c.last(), b.kept(c), b.columns(c, 0)[from:to]
	mean, factor := b.moments(c, from, to)
	for ch, f := range factor {
		inverse[ch] = float32(f)
	}
	scale, shift := c.in[1].value[from:to], c.in[2].value[from:to]
	for at := 0; at < len(x); at += n {
		normal, y := kept[at+from:at+to], c.value[at+from:at+to]
		kernels.Normal(normal, x[at+from:at+to], mean, factor)
		kernels.Mul(y, normal, scale)
		kernels.Add(y, y, shift)
	}
}

// quarter returns, for some channels, one of the four numbers that a training step keeps of each: mean, 1/deviation,
// and two sums, of which the first is the variance until the averages are updated.
func (c *cell) quarter(i, from, to int) []float64 {
	n := c.last()
	return c.doubles[i*n+from : i*n+to]
}

// moments computes mean and 1/deviation of some channels of a batch.
func (b batchNorm) moments(c *cell, from, to int) (mean, factor []float64) {
	x, n := c.in[0].value, c.last()
	mean, factor = c.quarter(0, from, to), c.quarter(1, from, to)
	rows, variance := float64(len(x)/n), c.quarter(2, from, to)
	for at := 0; at < len(x); at += n {
		kernels.AddWide(mean, x[at+from:at+to])
	}
	for ch := range mean {
		mean[ch] /= rows
	}
	for at := 0; at < len(x); at += n {
		kernels.AddSquares(variance, mean, x[at+from:at+to])
	}
	for ch := range variance {
		variance[ch] /= rows
		factor[ch] = 1 / math.Sqrt(variance[ch]+float64(b.Epsilon))
	}
	return mean, factor
}

// settleRows updates the averages of all channels.
func (b batchNorm) settleRows(c *cell) {
	mean, variance := c.quarter(0, 0, c.last()), c.quarter(2, 0, c.last())
	for ch := range mean {
		b.settle(c, ch, mean[ch], variance[ch])
	}
}

// evaluateRows is evaluate by rows.
func (b batchNorm) evaluateRows(c *cell) {
	x, n := c.in[0].value, last(c.shape)
	room := c.scratch(2 * n)
	factor, less := room[:n], room[n:]
	for ch := range factor {
		factor[ch] = c.in[1].value[ch] / float32(math.Sqrt(float64(c.in[4].value[ch]+b.Epsilon)))
		less[ch] = -c.in[3].value[ch]
	}
	for at := 0; at < len(x); at += n {
		y := c.value[at : at+n]
		kernels.Add(y, x[at:at+n], less)
		kernels.Mul(y, y, factor)
		kernels.Add(y, y, c.in[2].value)
	}
}

// backwardRows is backward by rows.
func (b batchNorm) backwardRows(c *cell, from, to int) {
	x, n, kept := c.in[0], c.last(), b.kept(c)
	dShift, dScale, room := c.quarter(2, from, to), c.quarter(3, from, to), b.columns(c, 1)[from:to]
	clear(dShift)
	clear(dScale)
	for at := 0; at < len(c.grad); at += n {
		dy := c.grad[at+from : at+to]
		kernels.AddWide(dShift, dy)
		kernels.Mul(room, dy, kept[at+from:at+to])
		kernels.AddWide(dScale, room)
	}
	for ch := range dShift {
		b.addChannel(c, from+ch, dShift[ch], dScale[ch])
	}
	if !x.wanted {
		return
	}
	inverse, rows := b.columns(c, 0)[from:to], float64(len(c.value)/n)
	factor, lessA, lessB := b.columns(c, 2)[from:to], b.columns(c, 3)[from:to], b.columns(c, 4)[from:to]
	for ch := range factor {
		factor[ch] = c.in[1].value[from+ch] * inverse[ch]
		lessA[ch], lessB[ch] = -float32(dShift[ch]/rows), -float32(dScale[ch]/rows)
	}
	for at := 0; at < len(c.grad); at += n { // factor·(dy − a − normal·b)
		kernels.Add(room, c.grad[at+from:at+to], lessA)
		kernels.AddMul(room, kept[at+from:at+to], lessB)
		kernels.AddMul(x.grad[at+from:at+to], room, factor)
	}
}
