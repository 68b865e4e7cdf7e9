package nn

import "github.com/gofleet/gofleet/internal/kernels"

// Swish is x·Sigmoid(x) (Ramachandran et al., 2017).
func Swish(x *Node) *Node { return apply("", swish{}, x) }

type swish struct{ elementwise }

func (swish) kind() string { return "swish" }

// forward stores Sigmoid(x) for backward.
func (swish) forward(c *cell) {
	x := c.in[0].value
	s := c.scratch(len(x))
	kernels.Sigmoid(s, x)
	kernels.Mul(c.value, x, s)
}

func (swish) backward(c *cell) {
	in := c.in[0]
	if !in.wanted {
		return
	}
	dx := in.sum()
	for i, s := range c.scratch(len(dx)) {
		dx[i] += c.grad[i] * (s + c.value[i]*(1-s))
	}
}
