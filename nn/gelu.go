package nn

import (
	"math"

	"github.com/gofleet/gofleet/internal/kernels"
)

// GELU is x·Φ(x), Φ being the normal distribution's function, by the error function (Hendrycks and Gimpel, 2016).
func GELU(x *Node) *Node { return apply("", gelu{}, x) }

type gelu struct{ elementwise }

func (gelu) kind() string { return "gelu" }

// forward stores Φ(x) for backward.
func (gelu) forward(c *cell) {
	x := c.in[0].value
	phi := c.scratch(2 * len(x))[:len(x)]
	normalCDF(phi, x)
	kernels.Mul(c.value, x, phi)
}

// backward multiplies by Φ(x) + x·e^(−x²/2)/√2π.
func (gelu) backward(c *cell) {
	in := c.in[0]
	if !in.wanted {
		return
	}
	n := len(in.value)
	phi, density, dx := c.scratch(2 * n)[:n], c.scratch(2 * n)[n:], in.sum()
	for i, x := range in.value {
		density[i] = -x * x / 2
	}
	kernels.Exp(density, density)
	const height = 0.3989422804014327 // 1/√2π
	for i, x := range in.value {
		dx[i] += c.grad[i] * (phi[i] + height*x*density[i])
	}
}

// normalCDF writes Φ(x) = ½·erfc(−x/√2) to dst. For z ≥ 0, with t = 1/(1+z/2),
//
//	erfc(z) = t·exp(p(t) − z²)
//
// where p interpolates at the Chebyshev nodes for z up to 10.2, with an error below 5e-8; for larger z erfc is below
// the range of float32.
func normalCDF(dst, x []float32) {
	for i, v := range x {
		z := math.Abs(float64(v)) / math.Sqrt2
		dst[i] = float32(erfcExponent(1/(1+z/2)) - z*z)
	}
	kernels.Exp(dst, dst)
	for i, v := range x {
		half := dst[i] / (2 + float32(math.Abs(float64(v)))/math.Sqrt2)
		if v >= 0 {
			half = 1 - half
		}
		dst[i] = half
	}
}

// erfcExponent is p(t).
func erfcExponent(t float64) float64 {
	p := 0.146537169
	for _, c := range [...]float64{-0.689589179, 1.1773763, -0.723754115, -0.0575148799, -0.0108340812, 0.0387195129,
		0.385779274, 0.998732965, -1.26545292} {
		p = p*t + c
	}
	return p
}
