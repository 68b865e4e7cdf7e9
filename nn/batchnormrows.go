package nn

import "math"

// Batch norm of [N C], where a channel has one number an example: all channels at once, row by row, as they lie in
// memory. The sums are those of forward and backward, in the same order.

func (b batchNorm) forwardRows(c *cell) {
	x, n := c.in[0].value, c.shape[1]
	kept := c.scratch(len(x) + n)
	sums := c.sums(2 * n)
	mean, spread := sums[:n], sums[n:]
	for at := 0; at < len(x); at += n {
		for ch, v := range x[at : at+n] {
			mean[ch] += float64(v)
		}
	}
	for ch := range mean {
		mean[ch] /= float64(c.rows())
	}
	for at := 0; at < len(x); at += n {
		for ch, v := range x[at : at+n] {
			d := float64(v) - mean[ch]
			spread[ch] += d * d
		}
	}
	for ch := range spread {
		variance := spread[ch] / float64(c.rows())
		spread[ch] = 1 / math.Sqrt(variance+float64(b.Epsilon))
		b.settle(c, ch, mean[ch], variance, spread[ch])
	}
	scale, shift := c.in[1].value, c.in[2].value
	for at := 0; at < len(x); at += n {
		normal, y := kept[at:at+n], c.value[at:at+n]
		for ch, v := range x[at : at+n] {
			k := float32((float64(v) - mean[ch]) * spread[ch])
			normal[ch], y[ch] = k, k*scale[ch]+shift[ch]
		}
	}
}

func (b batchNorm) backwardRows(c *cell) {
	x, n := c.in[0], c.shape[1]
	kept, sums := c.scratch(len(c.value)+n), c.sums(2*n)
	dShift, dScale := sums[:n], sums[n:]
	for at := 0; at < len(c.grad); at += n {
		normal := kept[at : at+n]
		for ch, g := range c.grad[at : at+n] {
			dShift[ch] += float64(g)
			dScale[ch] += float64(g * normal[ch])
		}
	}
	for ch := range n {
		c.addChannel(ch, dShift[ch], dScale[ch])
	}
	if !x.wanted {
		return
	}
	scale, inverse, rows := c.in[1].value, kept[len(c.value):], float64(c.rows())
	for ch := range n {
		dShift[ch], dScale[ch] = dShift[ch]/rows, dScale[ch]/rows
	}
	for at := 0; at < len(c.grad); at += n {
		dx, normal := x.grad[at:at+n], kept[at:at+n]
		for ch, g := range c.grad[at : at+n] {
			dx[ch] += scale[ch] * inverse[ch] * (g - float32(dShift[ch]) - normal[ch]*float32(dScale[ch]))
		}
	}
}
