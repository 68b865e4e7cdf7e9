package nn

import (
	"fmt"
	"math"
)

// SquareError is (pred−label)², element by element. The original's mse_loss is its [Mean].
func SquareError(pred, label *Node) *Node { return apply("", squareError{}, pred, label) }

// AbsoluteError is |pred−label|, element by element, with no gradient where they are the same. The original's l1_loss
// is its [Mean].
func AbsoluteError(pred, label *Node) *Node { return apply("", absoluteError{}, pred, label) }

// Huber is [SmoothL1] by its other name.
func Huber(pred, label *Node, delta float32) *Node { return SmoothL1(pred, label, delta) }

// SmoothL1 is ½d² for |d| below delta and delta·(|d|−½delta) above, element by element, d being pred−label (Huber,
// 1964). The original's delta is 1.
func SmoothL1(pred, label *Node, delta float32) *Node {
	return apply("", smoothL1{Delta: delta}, pred, label)
}

// compared has the methods that losses share: a label is never repeated to fit a prediction.
type compared struct{}

func (compared) infer(in []*Node) ([]int, error) { return in[0].shape, sameShape(in) }

// differences sets the value to f of pred − label.
func (compared) differences(c *cell, f func(d float32) float32) {
	a, b := c.in[0].value, c.in[1].value
	for i := range c.value {
		c.value[i] = f(a[i] - b[i])
	}
}

// differencesGrad adds to pred's gradient by the derivative at pred − label, and the opposite to label's.
func (compared) differencesGrad(c *cell, slope func(d float32) float32) {
	a, b := c.in[0], c.in[1]
	for side, sign := range [2]float32{1, -1} {
		in := c.in[side]
		if !in.wanted {
			continue
		}
		dx := in.sum()
		for i, g := range c.grad {
			dx[i] += sign * g * slope(a.value[i]-b.value[i])
		}
	}
}

type squareError struct{ compared }

func (squareError) kind() string { return "square_error" }

func (s squareError) forward(c *cell) { s.differences(c, func(d float32) float32 { return d * d }) }
func (s squareError) backward(c *cell) {
	s.differencesGrad(c, func(d float32) float32 { return 2 * d })
}

type absoluteError struct{ compared }

func (absoluteError) kind() string { return "absolute_error" }

func (a absoluteError) forward(c *cell) { a.differences(c, abs) }

func (a absoluteError) backward(c *cell) {
	a.differencesGrad(c, func(d float32) float32 {
		if d == 0 {
			return 0
		}
		return float32(math.Copysign(1, float64(d)))
	})
}

func abs(x float32) float32 { return float32(math.Abs(float64(x))) }

type smoothL1 struct {
	compared
	Delta float32 `json:"delta"`
}

func (smoothL1) kind() string { return "smooth_l1" }

func (s smoothL1) infer(in []*Node) ([]int, error) {
	if !(s.Delta > 0) {
		return nil, fmt.Errorf("delta is %v: it must be above 0", s.Delta)
	}
	return s.compared.infer(in)
}

func (s smoothL1) forward(c *cell) {
	s.differences(c, func(d float32) float32 {
		if abs(d) < s.Delta {
			return d * d / 2
		}
		return s.Delta * (abs(d) - s.Delta/2)
	})
}

func (s smoothL1) backward(c *cell) {
	s.differencesGrad(c, func(d float32) float32 { return max(-s.Delta, min(d, s.Delta)) })
}
