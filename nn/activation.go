package nn

import "github.com/gofleet/gofleet/internal/kernels"

// elementwise has the methods that all functions of one element share.
type elementwise struct{}

func (elementwise) byExample() {}

func (elementwise) infer(in []*Node) ([]int, error) { return in[0].shape, wantFloat(in) }

// ReLU is max(x, 0).
func ReLU(x *Node) *Node { return apply("", relu{}, x) }

type relu struct{ elementwise }

func (relu) kind() string { return "relu" }
func (relu) inPlace()     {}

func (relu) forward(c *cell) { kernels.ReLU(c.value, c.in[0].value) }

func (relu) backward(c *cell) {
	if x := c.in[0]; x.wanted {
		kernels.ReLUGrad(x.grad, c.value, c.grad, x.adds())
	}
}

// Tanh is the hyperbolic tangent.
func Tanh(x *Node) *Node { return apply("", tanh{}, x) }

type tanh struct{ elementwise }

func (tanh) kind() string { return "tanh" }
func (tanh) inPlace()     {}

func (tanh) forward(c *cell) { kernels.Tanh(c.value, c.in[0].value) }

func (tanh) backward(c *cell) {
	if x := c.in[0]; x.wanted {
		kernels.TanhGrad(x.grad, c.value, c.grad, x.adds())
	}
}

// Sigmoid is 1/(1+e⁻ˣ).
func Sigmoid(x *Node) *Node { return apply("", sigmoid{}, x) }

type sigmoid struct{ elementwise }

func (sigmoid) kind() string { return "sigmoid" }
func (sigmoid) inPlace()     {}

func (sigmoid) forward(c *cell) { kernels.Sigmoid(c.value, c.in[0].value) }

func (sigmoid) backward(c *cell) {
	if x := c.in[0]; x.wanted {
		kernels.SigmoidGrad(x.grad, c.value, c.grad, x.adds())
	}
}
