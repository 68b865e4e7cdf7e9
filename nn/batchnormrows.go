package nn

import (
	"math"

	"github.com/gofleet/gofleet/internal/kernels"
)

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
