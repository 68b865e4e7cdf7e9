package nn

import (
	"math"

	"github.com/gofleet/gofleet/internal/kernels"
)

// BinaryCrossEntropy is −label·ln(pred) − (1−label)·ln(1−pred), element by element, pred being a probability. A
// logarithm is never below −100. pred and label are as in [LogLoss].
func BinaryCrossEntropy(pred, label *Node) *Node {
	return apply("", binaryCrossEntropy{}, pred, label)
}

// BinaryCrossEntropyWithLogits is [BinaryCrossEntropy] of Sigmoid(x), computed without leaving the range of float32:
// max(x,0) − x·label + ln(1+e^−|x|), element by element. label is as in [LogLoss].
func BinaryCrossEntropyWithLogits(x, label *Node) *Node {
	return apply("", binaryCrossEntropyWithLogits{}, x, label)
}

type binaryCrossEntropy struct{ labelled }

func (binaryCrossEntropy) kind() string { return "binary_cross_entropy" }

func (binaryCrossEntropy) limits(n *Node) []limit { return []limit{labels01(n), probabilities(n, 0)} }

func (binaryCrossEntropy) forward(c *cell) {
	p, y := c.in[0].value, c.labels()
	for i := range c.value {
		p, y := float64(p[i]), float64(y[i])
		c.value[i] = float32(-y*max(math.Log(p), -100) - (1-y)*max(math.Log1p(-p), -100))
	}
}

func (binaryCrossEntropy) backward(c *cell) {
	x, y := c.in[0], c.labels()
	if !x.wanted {
		return
	}
	dx := x.sum()
	for i, p := range x.value {
		dx[i] += c.grad[i] * (p - y[i]) / max((1-p)*p, 1e-12)
	}
}

type binaryCrossEntropyWithLogits struct{ labelled }

func (binaryCrossEntropyWithLogits) kind() string { return "binary_cross_entropy_with_logits" }

func (binaryCrossEntropyWithLogits) limits(n *Node) []limit { return []limit{labels01(n)} }

func (binaryCrossEntropyWithLogits) forward(c *cell) {
	x, y := c.in[0].value, c.labels()
	logOnePlus(c.value, x)
	for i, v := range x {
		c.value[i] += max(v, 0) - v*y[i]
	}
}

func (binaryCrossEntropyWithLogits) backward(c *cell) {
	x, y := c.in[0], c.labels()
	if !x.wanted {
		return
	}
	dx, p := x.sum(), c.scratch(len(x.value))
	kernels.Sigmoid(p, x.value)
	for i, g := range c.grad {
		dx[i] += g * (p[i] - y[i])
	}
}
