package nn

import (
	"fmt"
	"math"
)

// CrossEntropy is −ln of the probability that pred gives to the label, one number an example: shape [N 1]. pred is a Softmax of
// shape [N classes], label int64 of shape [N 1] (or [N]) and below classes. A probability under 1.2e-38 counts as that,
// and has no useful gradient: where that can happen, take [SoftmaxWithCrossEntropy] of what goes into the Softmax.
func CrossEntropy(pred, label *Node) *Node {
	return apply("", crossEntropy{Classes: classesOf(pred)}, pred, label)
}

type crossEntropy struct{ Classes int }

// classesOf is the last dimension of a node, of which infer has yet to say whether it will do.
func classesOf(pred *Node) int {
	if pred == nil || len(pred.shape) == 0 {
		return 0
	}
	return pred.shape[len(pred.shape)-1]
}

func (crossEntropy) kind() string { return "cross_entropy" }

func (x crossEntropy) infer(in []*Node) ([]int, error) { return perLabel(in[0], in[1]) }

func (x crossEntropy) limit() (int, int64, string) {
	return 1, int64(x.Classes), "the number of classes"
}

// perLabel is the shape of what a loss has for each label, [N 1].
func perLabel(pred, label *Node) ([]int, error) {
	if err := wantFloat([]*Node{pred}); err != nil {
		return nil, err
	}
	if !isInt(label) {
		return nil, fmt.Errorf("label %v is not an int64 feed", label)
	}
	if len(pred.shape) != 2 || pred.shape[0] != batch || label.perExample() != 1 {
		return nil, fmt.Errorf("shapes [N classes] and [N 1] are needed, not %v and %v", pred, label)
	}
	return []int{pred.shape[0], 1}, nil
}

const smallestNormal = 0x1p-126

func (x crossEntropy) forward(c *cell) {
	p := c.in[0].value
	for i, label := range c.in[1].ids {
		c.value[i] = float32(-math.Log(float64(max(p[i*x.Classes+int(label)], smallestNormal))))
	}
}

func (x crossEntropy) backward(c *cell) {
	pred := c.in[0]
	if !pred.wanted {
		return
	}
	dx := pred.sum()
	for i, label := range c.in[1].ids {
		at := i*x.Classes + int(label)
		dx[at] -= c.grad[i] / max(pred.value[at], smallestNormal)
	}
}
