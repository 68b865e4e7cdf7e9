package nn

import (
	"fmt"
	"math"

	"github.com/gofleet/gofleet/internal/kernels"
)

// ReLU is max(x, 0).
func ReLU(x *Node) *Node { return apply("", activation{elementOp("relu")}, x) }

// Tanh is the hyperbolic tangent.
func Tanh(x *Node) *Node { return apply("", activation{elementOp("tanh")}, x) }

// Sigmoid is 1/(1+e⁻ˣ).
func Sigmoid(x *Node) *Node { return apply("", activation{elementOp("sigmoid")}, x) }

// LeakyReLU is x above 0 and slope·x below; the original's slope is 0.01.
func LeakyReLU(x *Node, slope float32) *Node { return apply("", elementOp("leaky_relu", slope), x) }

// ELU is x above 0 and alpha·(eˣ−1) below (Clevert et al., 2015).
func ELU(x *Node, alpha float32) *Node { return apply("", elementOp("elu", alpha), x) }

// GELU is x·Φ(x), Φ being the normal distribution's function, by the error function (Hendrycks and Gimpel, 2016).
func GELU(x *Node) *Node { return apply("", elementOp("gelu"), x) }

// Swish is x·Sigmoid(x) (Ramachandran et al., 2017).
func Swish(x *Node) *Node { return apply("", elementOp("swish"), x) }

// SiLU is x·Sigmoid(x), another name of [Swish].
func SiLU(x *Node) *Node { return Swish(x) }

// Softplus is ln(1+eˣ).
func Softplus(x *Node) *Node { return apply("", elementOp("softplus"), x) }

// Log is ln x: −Inf at 0, NaN below.
func Log(x *Node) *Node { return apply("", elementOp("log"), x) }

// Log1p is ln(1+x), for counts and the like.
func Log1p(x *Node) *Node { return apply("", elementOp("log1p"), x) }

// Exp is eˣ.
func Exp(x *Node) *Node { return apply("", elementOp("exp"), x) }

// Sqrt is √x: NaN below 0. Its gradient at 0 is infinite.
func Sqrt(x *Node) *Node { return apply("", elementOp("sqrt"), x) }

// Abs is |x|, without a gradient at 0.
func Abs(x *Node) *Node { return apply("", elementOp("abs"), x) }

// Square is x².
func Square(x *Node) *Node { return apply("", elementOp("square"), x) }

// Pow is x to a fixed power: NaN below 0, unless the power is a whole number.
func Pow(x *Node, power float32) *Node { return apply("", elementOp("pow", power), x) }

// Clip limits every element to low … high. Elements on a limit or beyond have no gradient.
func Clip(x *Node, low, high float32) *Node { return apply("", elementOp("clip", low, high), x) }

// functions are the functions of one element.
var functions = tabled(
	row{name: "relu", forward: slices1(kernels.ReLU), backward: outGrad(kernels.ReLUGrad)},
	row{name: "tanh", forward: slices1(kernels.Tanh), backward: outGrad(kernels.TanhGrad)},
	row{name: "sigmoid", forward: slices1(kernels.Sigmoid), backward: outGrad(kernels.SigmoidGrad)},
	row{name: "leaky_relu", attrs: "slope",
		forward:  func(c *cell, a args) { c.each(func(x float32) float32 { return below(x, a[0]*x, x) }) },
		backward: func(c *cell, a args) { c.eachGrad(func(x, _ float32) float32 { return below(x, a[0], 1) }) }},
	row{name: "elu", attrs: "alpha",
		forward: func(c *cell, a args) {
			c.each(func(x float32) float32 {
				if x < 0 {
					return a[0] * float32(math.Expm1(float64(x)))
				}
				return x
			})
		}, backward: func(c *cell, a args) { c.eachGrad(func(x, y float32) float32 { return below(x, y+a[0], 1) }) }},
	row{name: "gelu", forward: geluOf, backward: geluGrad},
	row{name: "swish", forward: swishOf, backward: swishGrad},
	row{name: "softplus", forward: slices1(softplusOf), backward: softplusGrad},
	row{name: "log", forward: slices1(kernels.Log),
		backward: func(c *cell, _ args) { c.eachGrad(func(x, _ float32) float32 { return 1 / x }) }},
	row{name: "log1p", forward: slices1(each64(math.Log1p)),
		backward: func(c *cell, _ args) { c.eachGrad(func(x, _ float32) float32 { return 1 / (1 + x) }) }},
	row{name: "exp", forward: slices1(kernels.Exp),
		backward: func(c *cell, _ args) { c.eachGrad(func(_, y float32) float32 { return y }) }},
	row{name: "sqrt", forward: slices1(each64(math.Sqrt)),
		backward: func(c *cell, _ args) { c.eachGrad(func(_, y float32) float32 { return 0.5 / y }) }},
	row{name: "abs", forward: slices1(each64(math.Abs)),
		backward: func(c *cell, _ args) { c.eachGrad(func(x, _ float32) float32 { return sign(x) }) }},
	row{name: "square", forward: slices1(func(y, x []float32) { kernels.Mul(y, x, x) }),
		backward: func(c *cell, _ args) { c.eachGrad(func(x, _ float32) float32 { return 2 * x }) }},
	row{name: "pow", attrs: "power",
		forward:  func(c *cell, a args) { c.each(func(x float32) float32 { return pow(x, a[0]) }) },
		backward: func(c *cell, a args) { c.eachGrad(func(x, _ float32) float32 { return a[0] * pow(x, a[0]-1) }) }},
	row{name: "clip", attrs: "low high",
		check: func(a args) error {
			if !(a[0] <= a[1]) {
				return fmt.Errorf("the lower limit %v is above the upper, %v", a[0], a[1])
			}
			return nil
		}, forward: func(c *cell, a args) { c.each(func(x float32) float32 { return min(max(x, a[0]), a[1]) }) },
		backward: func(c *cell, a args) {
			c.eachGrad(func(x, _ float32) float32 {
				if x <= a[0] || x >= a[1] {
					return 0
				}
				return 1
			})
		}},
)

// function is an op of the table functions.
type function struct {
	elementwise
	formula
}

func elementOp(name string, a ...float32) function {
	return function{formula: functions.of(name, a...)}
}

func (f function) infer(in []*Node) ([]int, error) { return in[0].shape, f.checked(wantFloat(in)) }

// activation is a function whose gradient is computed from its value.
type activation struct{ function }

func (activation) inPlace() {}

// elementwise has the methods that all functions of one element share.
type elementwise struct{}

func (elementwise) byExample() {}

func (elementwise) infer(in []*Node) ([]int, error) { return in[0].shape, wantFloat(in) }

// slices1 sets the value to f of the first input.
func slices1(f func(y, x []float32)) func(*cell, args) {
	return func(c *cell, _ args) { f(c.value, c.in[0].value) }
}

// each sets the value to f of every element of the first input.
func (c *cell) each(f func(x float32) float32) {
	for i, x := range c.in[0].value {
		c.value[i] = f(x)
	}
}

// each64 applies a function of float64 to slices of float32.
func each64(f func(float64) float64) func(y, x []float32) {
	return func(y, x []float32) {
		for i, v := range x {
			y[i] = float32(f(float64(v)))
		}
	}
}

// outGrad passes a gradient that a kernel computes from the value.
func outGrad(f func(dx, y, dy []float32, add bool)) func(*cell, args) {
	return func(c *cell, _ args) {
		if x := c.in[0]; x.wanted {
			f(x.grad, c.value, c.grad, x.adds())
		}
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

// below is less below 0, and otherwise more.
func below(x, less, more float32) float32 {
	if x < 0 {
		return less
	}
	return more
}

func pow(x, power float32) float32 { return float32(math.Pow(float64(x), float64(power))) }

func sign(x float32) float32 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x // 0, or NaN
}

// geluOf stores Φ(x) for geluGrad.
func geluOf(c *cell, _ args) {
	x := c.in[0].value
	phi := c.scratch(2 * len(x))[:len(x)]
	normalCDF(phi, x)
	kernels.Mul(c.value, x, phi)
}

// geluGrad multiplies by Φ(x) + x·e^(−x²/2)/√2π.
func geluGrad(c *cell, _ args) {
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

// swishOf stores Sigmoid(x) for swishGrad.
func swishOf(c *cell, _ args) {
	x := c.in[0].value
	s := c.scratch(len(x))
	kernels.Sigmoid(s, x)
	kernels.Mul(c.value, x, s)
}

func swishGrad(c *cell, _ args) {
	in := c.in[0]
	if !in.wanted {
		return
	}
	dx := in.sum()
	for i, s := range c.scratch(len(dx)) {
		dx[i] += c.grad[i] * (s + c.value[i]*(1-s))
	}
}

func softplusGrad(c *cell, _ args) {
	if in := c.in[0]; in.wanted {
		s := c.scratch(len(in.value))
		kernels.Sigmoid(s, in.value)
		addProduct(in, c.grad, s)
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
