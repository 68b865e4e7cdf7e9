package nn

import (
	"fmt"

	"github.com/gofleet/gofleet/internal/kernels"
)

// Softmax makes the last dimension a distribution: eˣ over the sum of eˣ.
func Softmax(x *Node) *Node { return apply("", softmax{}, x) }

type softmax struct{}

func (softmax) kind() string { return "softmax" }
func (softmax) byExample()   {}
func (softmax) inPlace()     {}

func (softmax) infer(in []*Node) ([]int, error) { return in[0].shape, wantClasses(in[0]) }

// wantClasses requires a fixed last dimension.
func wantClasses(x *Node) error {
	if len(x.shape) < 2 && x.shape[0] == batch {
		return fmt.Errorf("input %v has no classes: shape [N classes] is needed", x)
	}
	return wantFloat([]*Node{x})
}

func (softmax) forward(c *cell) { kernels.SoftmaxRows(c.value, c.in[0].value, c.last()) }

func (softmax) backward(c *cell) {
	if x := c.in[0]; x.wanted {
		kernels.SoftmaxRowsGrad(x.grad, c.value, c.grad, c.last(), x.adds())
	}
}

// last is the last dimension of the value.
func (c *cell) last() int { return c.shape[len(c.shape)-1] }
