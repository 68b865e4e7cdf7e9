package nn

import (
	"math"
	"slices"

	"github.com/gofleet/gofleet/internal/kernels"
)

// SoftmaxWithCrossEntropy is [CrossEntropy] of Softmax(logits), computed together, which stays exact for logits of any size. logits
// have shape [N classes], label is int64 of shape [N 1] and below classes; the loss has shape [N 1].
func SoftmaxWithCrossEntropy(logits, label *Node) *Node {
	return apply("", softmaxCrossEntropy{}, logits, label)
}

type softmaxCrossEntropy struct{}

func (softmaxCrossEntropy) kind() string { return "softmax_with_cross_entropy" }
func (softmaxCrossEntropy) compares()    {}

func (softmaxCrossEntropy) infer(in []*Node) ([]int, error) { return perLabel(in[0], in[1]) }

func (softmaxCrossEntropy) limits(n *Node) []limit { return []limit{classLimit(n)} }

// forward keeps the probabilities for backward.
func (softmaxCrossEntropy) forward(c *cell) {
	x, classes := c.in[0].value, c.in[0].cols()
	probabilities := c.scratch(len(x))
	for i, label := range c.in[1].ids {
		row, p := x[i*classes:(i+1)*classes], probabilities[i*classes:(i+1)*classes]
		top := slices.Max(row) // NaN, if there is one
		for j, v := range row {
			p[j] = v - top
		}
		kernels.Exp(p, p)
		sum := sum64(p)
		kernels.Scale(float32(1/sum), p)
		c.value[i] = float32(float64(top) + math.Log(sum) - float64(row[label]))
	}
}

func (softmaxCrossEntropy) backward(c *cell) {
	x, classes := c.in[0], c.in[0].cols()
	if !x.wanted {
		return
	}
	dx, probabilities := x.sum(), c.scratch(len(x.value))
	for i, label := range c.in[1].ids {
		kernels.Axpy(c.grad[i], probabilities[i*classes:(i+1)*classes], dx[i*classes:(i+1)*classes])
		dx[i*classes+int(label)] -= c.grad[i]
	}
}
