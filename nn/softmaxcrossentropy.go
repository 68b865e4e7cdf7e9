package nn

import "math"

// SoftmaxWithCrossEntropy is [CrossEntropy] of Softmax(logits), computed together, which stays exact for logits of any size. logits
// have shape [N classes], label is int64 of shape [N 1] and below classes; the loss has shape [N 1].
func SoftmaxWithCrossEntropy(logits, label *Node) *Node {
	return apply("", softmaxCrossEntropy{}, logits, label)
}

type softmaxCrossEntropy struct{}

func (softmaxCrossEntropy) kind() string { return "softmax_with_cross_entropy" }

func (softmaxCrossEntropy) infer(in []*Node) ([]int, error) { return perLabel(in[0], in[1]) }

func (softmaxCrossEntropy) limit(n *Node) limit { return classLimit(n) }

func (softmaxCrossEntropy) forward(c *cell) {
	x, classes := c.in[0].value, c.in[0].cols()
	logs := c.scratch(len(x))
	for i, label := range c.in[1].ids {
		row := logs[i*classes : (i+1)*classes]
		logSoftmaxRow(row, x[i*classes:(i+1)*classes])
		c.value[i] = -row[label]
	}
}

func (softmaxCrossEntropy) backward(c *cell) {
	x, classes := c.in[0], c.in[0].cols()
	if !x.wanted {
		return
	}
	dx, logs := x.sum(), c.scratch(len(x.value))
	for i, label := range c.in[1].ids {
		for j := range classes {
			dx[i*classes+j] += c.grad[i] * float32(math.Exp(float64(logs[i*classes+j])))
		}
		dx[i*classes+int(label)] -= c.grad[i]
	}
}
