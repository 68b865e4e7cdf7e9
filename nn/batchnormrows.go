package nn

import (
	"math"

	"github.com/gofleet/gofleet/internal/kernels"
)

// Batch norm where the channels are the last dimension, as of [N C]: all channels at once, row by row, as they lie in
// memory. The sums are those of forward and backward, in the same order.

// forwardRows is forward by rows.
func (b batchNorm) forwardRows(c *cell) {
	x, n, kept, inverse := c.in[0].value, last(c.shape), b.kept(c), b.columns(c, 0)
	mean, factor := b.moments(c)
	for ch, f := range factor {
		inverse[ch] = float32(f)
	}
	scale, shift := c.in[1].value, c.in[2].value
	for at := 0; at < len(x); at += n {
		normal, y := kept[at:at+n], c.value[at:at+n]
		kernels.Normal(normal, x[at:at+n], mean, factor)
		kernels.Mul(y, normal, scale)
		kernels.Add(y, y, shift)
	}
}

// moments are mean and 1/deviation of each channel of a batch, by which the averages move.
func (b batchNorm) moments(c *cell) (mean, factor []float64) {
	x, n := c.in[0].value, last(c.shape)
	sums, rows := c.sums(4*n), float64(len(x)/n)
	mean, factor = sums[:n], sums[n:2*n]
	for at := 0; at < len(x); at += n {
		kernels.AddWide(mean, x[at:at+n])
	}
	for ch := range mean {
		mean[ch] /= rows
	}
	for at := 0; at < len(x); at += n {
		kernels.AddSquares(factor, mean, x[at:at+n])
	}
	for ch := range factor {
		variance := factor[ch] / rows
		factor[ch] = 1 / math.Sqrt(variance+float64(b.Epsilon))
		b.settle(c, ch, mean[ch], variance)
	}
	return mean, factor
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
func (b batchNorm) backwardRows(c *cell) {
	x, n := c.in[0], last(c.shape)
	kept, inverse, sums := b.kept(c), b.columns(c, 0), c.sums(2*n)
	dShift, dScale, room := sums[:n], sums[n:], b.columns(c, 1)
	for at := 0; at < len(c.grad); at += n {
		dy := c.grad[at : at+n]
		kernels.AddWide(dShift, dy)
		kernels.Mul(room, dy, kept[at:at+n])
		kernels.AddWide(dScale, room)
	}
	for ch := range n {
		c.addChannel(ch, dShift[ch], dScale[ch])
	}
	if !x.wanted {
		return
	}
	factor, lessA, lessB, rows := b.columns(c, 2), b.columns(c, 3), b.columns(c, 4), float64(len(c.value)/n)
	for ch := range n {
		factor[ch] = c.in[1].value[ch] * inverse[ch]
		lessA[ch], lessB[ch] = -float32(dShift[ch]/rows), -float32(dScale[ch]/rows)
	}
	for at := 0; at < len(c.grad); at += n { // factor·(dy − a − normal·b)
		kernels.Add(room, c.grad[at:at+n], lessA)
		kernels.AddMul(room, kept[at:at+n], lessB)
		kernels.AddMul(x.grad[at:at+n], room, factor)
	}
}
