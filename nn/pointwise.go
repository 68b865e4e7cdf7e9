package nn

// Functions of one element that have no kernel of their own share these loops.

// each sets the value to f of every element of the first input.
func (c *cell) each(f func(x float32) float32) {
	for i, x := range c.in[0].value {
		c.value[i] = f(x)
	}
}

// eachGrad adds slope × gradient to the gradient of the first input, element by element; slope is the derivative at x,
// with the value y.
func (c *cell) eachGrad(slope func(x, y float32) float32) {
	in := c.in[0]
	if !in.wanted {
		return
	}
	dx := in.sum()
	for i, x := range in.value {
		dx[i] += c.grad[i] * slope(x, c.value[i])
	}
}
