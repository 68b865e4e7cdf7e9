package nn

import "math"

// GELU is x·Φ(x), Φ being the normal distribution's function, by the error function (Hendrycks and Gimpel, 2016).
func GELU(x *Node) *Node { return apply("", gelu{}, x) }

type gelu struct{ elementwise }

func (gelu) kind() string { return "gelu" }

func (gelu) forward(c *cell) {
	c.each(func(x float32) float32 { return float32(float64(x) * normalCDF(float64(x))) })
}

func (gelu) backward(c *cell) {
	c.eachGrad(func(x, _ float32) float32 {
		z := float64(x)
		return float32(normalCDF(z) + z*math.Exp(-z*z/2)/math.Sqrt(2*math.Pi))
	})
}

func normalCDF(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

// Swish is x·Sigmoid(x) (Ramachandran et al., 2017).
func Swish(x *Node) *Node { return apply("", swish{}, x) }

type swish struct{ elementwise }

func (swish) kind() string { return "swish" }

func (swish) forward(c *cell) {
	c.each(func(x float32) float32 { return x * logistic(x) })
}

func (swish) backward(c *cell) {
	c.eachGrad(func(x, y float32) float32 { return y + logistic(x)*(1-y) })
}

// Softplus is ln(1+eˣ), and x itself above 20, where it is the same.
func Softplus(x *Node) *Node { return apply("", softplus{}, x) }

type softplus struct{ elementwise }

func (softplus) kind() string { return "softplus" }

func (softplus) forward(c *cell) {
	c.each(func(x float32) float32 {
		if x > 20 {
			return x
		}
		return float32(math.Log1p(math.Exp(float64(x))))
	})
}

func (softplus) backward(c *cell) {
	c.eachGrad(func(x, _ float32) float32 { return logistic(x) })
}

// logistic is 1/(1+e⁻ˣ), by float64.
func logistic(x float32) float32 { return float32(1 / (1 + math.Exp(-float64(x)))) }
