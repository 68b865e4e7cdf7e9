package nn

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Mean is the mean of all elements, of shape [1]; 0 for an empty batch.
func Mean(x *Node) *Node { return apply("", mean{}, x) }

type mean struct{}

func (mean) kind() string { return "mean" }

func (mean) infer(in []*Node) ([]int, error) { return []int{1}, wantFloat(in) }

func (mean) forward(c *cell) {
	c.value[0] = 0
	if x := c.in[0].value; len(x) > 0 {
		c.value[0] = float32(sum64(x) / float64(len(x)))
	}
}

func (mean) backward(c *cell) {
	if x := c.in[0]; x.wanted {
		each, dx := c.grad[0]/float32(len(x.value)), x.sum()
		for i := range dx {
			dx[i] += each
		}
	}
}

// WeightedMean is Σ w·x / Σ w over all elements of x, of shape [1]: the mean loss of weighted examples. weight has x's
// shape or one number per example, float32 or int64 and not negative; an example of weight 0 does not count, and if all
// are 0 the result is 0, without a gradient. The weights get no gradient: a model that computes them must [Detach]
// them.
//
// PyTorch divides its weighted losses likewise; Keras divides by the number of elements, which is Mean(Multiply(x,
// weight)). Each worker's loss is divided by the weights of its own batch. Package fleet/train evaluates it over all
// rows; nodes computed from it, such as its sum with another loss, are averaged by examples (see [Executor.Weight]).
// For metrics use [Weighted].
func WeightedMean(x, weight *Node) *Node { return apply("", weightedMean{}, x, weight) }

// ClassWeightOptions are the options of ClassWeights.
type ClassWeightOptions struct {
	// Weights are the weights of the classes, by label; empty means 1 for each.
	Weights []float32
	// Ignore is a label whose examples weigh 0, such as −100; nil means none.
	Ignore *int64
}

// ClassWeights is the weight of each label, for [WeightedMean] and [Weighted]; it has the label's shape. A label is
// int64 and below the number of weights. With two weights it may be float32: a label between 0 and 1 then has a weight
// between the two.
//
//	weight := nn.ClassWeights(label, nn.ClassWeightOptions{Weights: []float32{1, 4, 4}})
//	loss := nn.WeightedMean(nn.SoftmaxWithCrossEntropy(logits, label), weight) // PyTorch's CrossEntropyLoss(weight)
func ClassWeights(label *Node, o ClassWeightOptions) *Node {
	o.Weights = slices.Clone(o.Weights)
	return apply("", classWeights(o), label)
}

type weightedMean struct{}

func (weightedMean) kind() string { return "weighted_mean" }
func (weightedMean) weighs()      {}

func (weightedMean) infer(in []*Node) ([]int, error) { return []int{1}, weighable(in[0], in[1]) }

// weighable returns an error for weights that don't fit.
func weighable(x, weight *Node) error {
	in := []*Node{x, weight}
	if isInt(weight) {
		in = in[:1]
	}
	if err := wantFloat(in); err != nil {
		return err
	}
	if !equalShapes(x.shape, weight.shape) && (x.shape[0] != batch || weight.shape[0] != batch ||
		weight.perExample() != 1) {
		return fmt.Errorf("weights %v have neither the shape of %v nor one number an example", weight, x)
	}
	if weight.trains() {
		return fmt.Errorf("weights %s are computed from parameters, and get no gradient: pass them through Detach",
			weight.placed())
	}
	return nil
}

func (weightedMean) limits(n *Node) []limit { return []limit{weightLimit(n, 1)} }

// weightLimit is the limit on weights: not negative.
func weightLimit(n *Node, input int) limit {
	l := limit{input: input, why: fmt.Sprintf("no weight for %s, from 0", n.label())}
	if !isInt(n.in[input]) {
		l.between = &span{0, math.MaxFloat32, true}
	}
	return l
}

// forward stores the sum of the weights for backward.
func (weightedMean) forward(c *cell) {
	sums, each := c.sums(2), c.in[0].each1(c.in[1])
	for i, x := range c.in[0].value {
		if w := c.in[1].number(i / each); w != 0 {
			sums[0], sums[1] = sums[0]+w*float64(x), sums[1]+w
		}
	}
	c.value[0] = 0
	if sums[1] != 0 {
		c.value[0] = float32(sums[0] / sums[1])
	}
}

// each1 is the number of elements of a value for each number of another.
func (c *cell) each1(other *cell) int { return max(1, product(c.shape)/max(1, product(other.shape))) }

func (weightedMean) backward(c *cell) {
	x, sum := c.in[0], c.doubles[1]
	if !x.wanted || sum == 0 {
		return
	}
	dx, each := x.sum(), x.each1(c.in[1])
	for i := range dx {
		dx[i] += float32(float64(c.grad[0]) * c.in[1].number(i/each) / sum)
	}
}

type classWeights struct {
	Weights []float32 `json:"weights,omitempty"`
	Ignore  *int64    `json:"ignore,omitempty"`
}

func (classWeights) kind() string { return "class_weights" }

func (o classWeights) infer(in []*Node) ([]int, error) {
	label := in[0]
	for i, w := range o.Weights {
		if !(w >= 0) || math.IsInf(float64(w), 1) {
			return nil, fmt.Errorf("weight %d is %v: weights are numbers from 0", i, w)
		}
	}
	switch {
	case isInt(label) && (len(o.Weights) > 0 || o.Ignore != nil):
		return label.shape, nil
	case isInt(label):
		return nil, errors.New("want Weights, or a label to Ignore")
	case len(o.Weights) != 2 || o.Ignore != nil:
		return nil, fmt.Errorf("float32 label %v is of two classes: two Weights are needed, and nothing to Ignore",
			label)
	}
	return label.shape, wantFloat(in)
}

func (o classWeights) limits(n *Node) []limit {
	if isInt(n.in[0]) {
		return []limit{{below: int64(len(o.Weights)), except: o.Ignore,
			why: fmt.Sprintf("the weights of %s", n.label())}}
	}
	l := labels01(n)
	l.input = 0
	return []limit{l}
}

func (o classWeights) forward(c *cell) {
	label := c.in[0]
	for i := range c.value {
		switch {
		case !isInt(label.node):
			y := label.value[i]
			c.value[i] = o.Weights[0]*(1-y) + o.Weights[1]*y
		case o.Ignore != nil && label.ids[i] == *o.Ignore:
			c.value[i] = 0
		case len(o.Weights) > 0:
			c.value[i] = o.Weights[label.ids[i]]
		default:
			c.value[i] = 1
		}
	}
}

func (classWeights) backward(*cell)  {}
func (classWeights) passes(int) bool { return false }
