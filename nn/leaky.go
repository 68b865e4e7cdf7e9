package nn

import "math"

// LeakyReLU is x above 0 and slope·x below; the original's slope is 0.01.
func LeakyReLU(x *Node, slope float32) *Node { return apply("", leakyReLU{Slope: slope}, x) }

type leakyReLU struct {
	elementwise
	Slope float32 `json:"slope"`
}

func (leakyReLU) kind() string { return "leaky_relu" }

func (l leakyReLU) forward(c *cell) {
	c.each(func(x float32) float32 {
		if x < 0 {
			return l.Slope * x
		}
		return x
	})
}

func (l leakyReLU) backward(c *cell) {
	c.eachGrad(func(x, _ float32) float32 {
		if x < 0 {
			return l.Slope
		}
		return 1
	})
}

// ELU is x above 0 and alpha·(eˣ−1) below (Clevert et al., 2015).
func ELU(x *Node, alpha float32) *Node { return apply("", elu{Alpha: alpha}, x) }

type elu struct {
	elementwise
	Alpha float32 `json:"alpha"`
}

func (elu) kind() string { return "elu" }

func (e elu) forward(c *cell) {
	c.each(func(x float32) float32 {
		if x < 0 {
			return e.Alpha * float32(math.Expm1(float64(x)))
		}
		return x
	})
}

func (e elu) backward(c *cell) {
	c.eachGrad(func(x, y float32) float32 {
		if x < 0 {
			return y + e.Alpha
		}
		return 1
	})
}
