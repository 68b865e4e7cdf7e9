package nn

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/gofleet/gofleet/internal/kernels"
)

// Log is ln x: −Inf at 0, NaN below.
func Log(x *Node) *Node { return apply("", formula{name: "log"}, x) }

// Log1p is ln(1+x), for counts and the like.
func Log1p(x *Node) *Node { return apply("", formula{name: "log1p"}, x) }

// Exp is eˣ.
func Exp(x *Node) *Node { return apply("", formula{name: "exp"}, x) }

// Sqrt is √x: NaN below 0. Its gradient at 0 is infinite.
func Sqrt(x *Node) *Node { return apply("", formula{name: "sqrt"}, x) }

// Abs is |x|, without a gradient at 0.
func Abs(x *Node) *Node { return apply("", formula{name: "abs"}, x) }

// Square is x².
func Square(x *Node) *Node { return apply("", formula{name: "square"}, x) }

// Pow is x to a fixed power: NaN below 0, unless the power is a whole number.
func Pow(x *Node, power float32) *Node { return apply("", pow{Power: power}, x) }

// SiLU is x·Sigmoid(x), another name of [Swish].
func SiLU(x *Node) *Node { return Swish(x) }

// formulas are functions of one element: the function of a slice of values, and the derivative at x with the value y.
var formulas = map[string]struct {
	of    func(y, x []float32)
	slope func(x, y float32) float32
}{
	"log":    {kernels.Log, func(x, _ float32) float32 { return 1 / x }},
	"log1p":  {each64(math.Log1p), func(x, _ float32) float32 { return 1 / (1 + x) }},
	"exp":    {kernels.Exp, func(_, y float32) float32 { return y }},
	"sqrt":   {each64(math.Sqrt), func(_, y float32) float32 { return 0.5 / y }},
	"abs":    {each64(math.Abs), func(x, _ float32) float32 { return sign(x) }},
	"square": {func(y, x []float32) { kernels.Mul(y, x, x) }, func(x, _ float32) float32 { return 2 * x }},
}

// each64 applies a function of float64 to slices of float32.
func each64(f func(float64) float64) func(y, x []float32) {
	return func(y, x []float32) {
		for i, v := range x {
			y[i] = float32(f(float64(v)))
		}
	}
}

func sign(x float32) float32 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x // 0, or NaN
}

// formula is an op of the table formulas.
type formula struct {
	elementwise
	name string
}

func (f formula) kind() string { return f.name }

func (f formula) forward(c *cell)  { formulas[f.name].of(c.value, c.in[0].value) }
func (f formula) backward(c *cell) { c.eachGrad(formulas[f.name].slope) }

// formulaOf returns the recipe of the op of that name, which has no attributes.
func formulaOf(name string) recipe {
	return recipe{func(attrs json.RawMessage) (op, error) {
		if len(attrs) > 0 {
			return nil, fmt.Errorf("attributes %s: it has none", attrs)
		}
		return formula{name: name}, nil
	}, 1, 1}
}

type pow struct {
	elementwise
	Power float32 `json:"power"`
}

func (pow) kind() string { return "pow" }

func (p pow) forward(c *cell) {
	c.each(func(x float32) float32 { return float32(math.Pow(float64(x), float64(p.Power))) })
}

func (p pow) backward(c *cell) {
	c.eachGrad(func(x, _ float32) float32 { return p.Power * float32(math.Pow(float64(x), float64(p.Power-1))) })
}
