package nn

import (
	"fmt"
	"math"
)

// CrossEntropy is −ln of the probability that pred gives to the label, one number for each example: shape [N 1]. pred
// is a Softmax of shape [N classes], label int64 of shape [N 1] (or [N]) and below classes. A probability under 1.2e-38
// counts as that, and has no useful gradient: where that can happen, use [SoftmaxWithCrossEntropy] of the logits.
func CrossEntropy(pred, label *Node) *Node {
	return apply("", crossEntropy{}, pred, label)
}

type crossEntropy struct{}

func (crossEntropy) kind() string { return "cross_entropy" }
func (crossEntropy) compares()    {}

func (crossEntropy) infer(in []*Node) ([]int, error) {
	if err := severalClasses(in[0]); err != nil {
		return nil, err
	}
	return perLabel(in[0], in[1])
}

// severalClasses returns an error for one score an example, whose class is always right.
func severalClasses(pred *Node) error {
	if len(pred.shape) > 1 && last(pred.shape) == 1 {
		return fmt.Errorf("%v has one class, which every label is: for one score an example, use "+
			"BinaryCrossEntropy or BinaryCrossEntropyWithLogits", pred)
	}
	return nil
}

func (crossEntropy) limits(n *Node) []limit { return []limit{classLimit(n)} }

// classLimit is the limit on the second input, labels, given by the width of the first.
func classLimit(n *Node) limit {
	return limit{input: 1, below: int64(last(n.in[0].shape)), why: fmt.Sprintf("the classes of %s", n.in[0].placed())}
}

func last(shape []int) int { return shape[len(shape)-1] }

// perLabel is the shape of a loss with one number for each label, [N 1].
func perLabel(pred, label *Node) ([]int, error) {
	if err := wantFloat([]*Node{pred}); err != nil {
		return nil, err
	}
	if !isInt(label) {
		return nil, fmt.Errorf("label %v is not int64", label)
	}
	if len(pred.shape) != 2 || pred.shape[0] != batch || label.perExample() != 1 {
		return nil, fmt.Errorf("shapes [N classes] and [N 1] are needed, not %v and %v", pred, label)
	}
	return []int{pred.shape[0], 1}, nil
}

const smallestNormal = 0x1p-126

func (crossEntropy) forward(c *cell) {
	p, classes := c.in[0].value, c.in[0].cols()
	for i, label := range c.in[1].ids {
		c.value[i] = float32(-math.Log(float64(max(p[i*classes+int(label)], smallestNormal))))
	}
}

func (crossEntropy) backward(c *cell) {
	pred := c.in[0]
	if !pred.wanted {
		return
	}
	dx, classes := pred.sum(), pred.cols()
	for i, label := range c.in[1].ids {
		at := i*classes + int(label)
		dx[at] -= c.grad[i] / max(pred.value[at], smallestNormal)
	}
}
