package nn

import (
	"math"

	"github.com/gofleet/gofleet/internal/kernels"
)

// Softplus is ln(1+eˣ).
func Softplus(x *Node) *Node { return apply("", softplus{}, x) }

type softplus struct{ elementwise }

func (softplus) kind() string { return "softplus" }

func (softplus) forward(c *cell) { softplusOf(c.value, c.in[0].value) }

func (softplus) backward(c *cell) {
	if in := c.in[0]; in.wanted {
		s := c.scratch(len(in.value))
		kernels.Sigmoid(s, in.value)
		addProduct(in, c.grad, s)
	}
}

// softplusOf writes ln(1+eˣ) = max(x, 0) + ln(1+e^−|x|) to dst, which is not x.
func softplusOf(dst, x []float32) {
	logOnePlus(dst, x)
	for i, v := range x {
		dst[i] += max(v, 0)
	}
}

// logOnePlus writes ln(1+z) with z = e^−|x| to dst, which is not x: z·q(z), where q interpolates ln(1+z)/z at the
// Chebyshev nodes of [0, 1] to 2e-7.
func logOnePlus(dst, x []float32) {
	for i, v := range x {
		dst[i] = -float32(math.Abs(float64(v)))
	}
	kernels.Exp(dst, dst)
	for i, z := range dst {
		q := 0.0052534578*z - 0.029588507
		q = q*z + 0.078361668
		q = q*z - 0.1367477
		q = q*z + 0.19111431
		q = q*z - 0.2484437
		q = q*z + 0.33319271
		q = q*z - 0.49999502
		dst[i] = z * (q*z + 0.99999997)
	}
}
