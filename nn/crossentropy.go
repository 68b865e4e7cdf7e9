package nn

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gofleet/gofleet/internal/kernels"
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

// SoftmaxWithCrossEntropy is [CrossEntropy] of Softmax(logits), computed together, which stays exact for logits of any
// size. logits have shape [N classes], label is int64 of shape [N 1] and below classes; the loss has shape [N 1]. For
// logits of shape [N L classes], such as a sequence's, labels and the loss have shape [N L].
//
// A float32 label of the logits' shape has a share for each class: Σ −labelⱼ·ln pⱼ, for a teacher's probabilities
// (through [Detach]) or mixed examples.
func SoftmaxWithCrossEntropy(logits, label *Node) *Node {
	return SoftmaxWithCrossEntropyOf(logits, label, CrossEntropyOptions{})
}

// CrossEntropyOptions change a [SoftmaxWithCrossEntropyOf].
type CrossEntropyOptions struct {
	// Smoothing is a share of each label that goes to all classes alike: a label counts 1−Smoothing, and each class
	// Smoothing/classes (Szegedy et al., 2016).
	Smoothing float32
	// Ignore is a label whose examples have the loss 0 and no gradient, such as −100 (PyTorch's ignore_index); nil
	// means none. Mean counts them: [WeightedMean] with [ClassWeights] of the same Ignore does not.
	Ignore *int64
}

// SoftmaxWithCrossEntropyOf is [SoftmaxWithCrossEntropy] with options.
func SoftmaxWithCrossEntropyOf(logits, label *Node, o CrossEntropyOptions) *Node {
	return apply("", softmaxCrossEntropy(o), logits, label)
}

type softmaxCrossEntropy struct {
	Smoothing float32 `json:"smoothing,omitempty"`
	Ignore    *int64  `json:"ignore,omitempty"`
}

func (softmaxCrossEntropy) kind() string { return "softmax_with_cross_entropy" }
func (softmaxCrossEntropy) byExample()   {}
func (softmaxCrossEntropy) compares()    {}

func (o softmaxCrossEntropy) infer(in []*Node) ([]int, error) {
	logits, label := in[0], in[1]
	if !(o.Smoothing >= 0 && o.Smoothing < 1) {
		return nil, fmt.Errorf("smoothing is %v: it is a share from 0 to below 1", o.Smoothing)
	}
	if err := severalClasses(logits); err != nil {
		return nil, err
	}
	if !isInt(label) && equalShapes(logits.shape, label.shape) && len(logits.shape) > 1 {
		if o.Ignore != nil {
			return nil, errors.New("labels with a share for each class have none to Ignore")
		}
		return perRow(logits.shape), wantFloat(in)
	}
	if n := len(logits.shape); n > 2 && logits.shape[0] == batch && isInt(label) &&
		equalShapes(logits.shape[:n-1], label.shape) {
		return label.shape, wantFloat(in[:1])
	}
	return perLabel(logits, label)
}

// perRow is the shape with one number for each row of the last dimension.
func perRow(shape []int) []int {
	if len(shape) == 2 {
		return []int{shape[0], 1}
	}
	return slices.Clone(shape[:len(shape)-1])
}

func (o softmaxCrossEntropy) limits(n *Node) []limit {
	if !isInt(n.in[1]) {
		return []limit{labels01(n)}
	}
	l := classLimit(n)
	l.except = o.Ignore
	return []limit{l}
}

// target returns row i's label: the class, or a share for each class, and the sum of all shares. An ignored row has
// neither.
func (o softmaxCrossEntropy) target(c *cell, i, classes int) (class int, shares []float32, sum float64) {
	if label := c.in[1]; isInt(label.node) {
		if o.Ignore != nil && label.ids[i] == *o.Ignore {
			return -1, nil, 0
		}
		return int(label.ids[i]), nil, 1
	}
	shares = c.in[1].value[i*classes : (i+1)*classes]
	return -1, shares, sum64(shares)
}

// forward stores the probabilities for backward.
func (o softmaxCrossEntropy) forward(c *cell) {
	x, classes := c.in[0].value, last(c.in[0].shape)
	probabilities := c.scratch(len(x))
	for i := range c.value {
		row, p := x[i*classes:(i+1)*classes], probabilities[i*classes:(i+1)*classes]
		top, sum := kernels.Exponentials(p, row)
		kernels.Scale(1/sum, p)
		c.value[i] = float32(o.loss(c, i, row, float64(top)+math.Log(float64(sum))))
	}
}

// loss returns the loss of row i; log is the logarithm of the sum of its exponentials.
func (o softmaxCrossEntropy) loss(c *cell, i int, row []float32, log float64) float64 {
	class, shares, sum := o.target(c, i, len(row))
	smooth, hit := float64(o.Smoothing), 0.0
	switch {
	case class >= 0:
		hit = float64(row[class])
	case shares == nil:
		return 0
	}
	for j, share := range shares {
		hit += float64(share) * float64(row[j])
	}
	if smooth > 0 {
		hit = hit*(1-smooth) + smooth*sum64(row)/float64(len(row))
		sum = sum*(1-smooth) + smooth
	}
	return log*sum - hit
}

func (o softmaxCrossEntropy) backward(c *cell) {
	x, classes := c.in[0], last(c.in[0].shape)
	if !x.wanted {
		return
	}
	dx, probabilities := x.sum(), c.scratch(len(x.value))
	for i, g := range c.grad {
		class, shares, sum := o.target(c, i, classes)
		if class < 0 && shares == nil {
			continue
		}
		row, sharp := dx[i*classes:(i+1)*classes], g*(1-o.Smoothing)
		kernels.Axpy(sharp*float32(sum)+g*o.Smoothing, probabilities[i*classes:(i+1)*classes], row)
		if shares != nil {
			kernels.Axpy(-sharp, shares, row)
		} else {
			row[class] -= sharp
		}
		if each := g * o.Smoothing / float32(classes); each != 0 {
			for j := range row {
				row[j] -= each
			}
		}
	}
}
