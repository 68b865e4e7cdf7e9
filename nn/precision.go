package nn

import "math"

// Precision is the share of positive labels among the examples whose probability is 0.5 or more, over all batches since
// [Executor.ResetMetrics], of shape [1]; NaN when there are none, or a label is NaN. pred and label are as for [AUC].
func Precision(pred, label *Node) *Node { return apply("", found{"precision"}, pred, label) }

// Recall is the share of the examples with a positive label whose probability is 0.5 or more, over all batches since
// [Executor.ResetMetrics], of shape [1]; NaN when there are none, or a label is NaN. pred and label are as for [AUC].
func Recall(pred, label *Node) *Node { return apply("", found{"recall"}, pred, label) }

// BinaryAccuracy is the share of examples that are classified correctly, as positive if their probability is 0.5 or
// more and as negative otherwise, over all batches since [Executor.ResetMetrics]; its shape is [1]. A score that
// is NaN counts as wrong, and a label that is makes it NaN. pred and label are as for [AUC].
func BinaryAccuracy(pred, label *Node) *Node { return apply("", found{"binary_accuracy"}, pred, label) }

// shares are the metrics that are shares of right answers, by kind: the examples that count, and those of them that are
// right. said means a probability of 0.5 or more, is a positive label.
var shares = map[string]struct{ among, hit func(said, is bool) bool }{
	"precision":       {func(said, _ bool) bool { return said }, func(_, is bool) bool { return is }},
	"recall":          {func(_, is bool) bool { return is }, func(said, _ bool) bool { return said }},
	"binary_accuracy": {func(_, _ bool) bool { return true }, toldRight},
}

// found is a metric of the table shares.
type found struct{ kindOf string }

func (f found) kind() string                  { return f.kindOf }
func (found) infer(in []*Node) ([]int, error) { return []int{1}, binary(in[0], in[1]) }
func (found) compares()                       {}
func (found) limits(n *Node) []limit          { return []limit{labels01(n)} }
func (found) backward(*cell)                  {}
func (found) tally(*Node) tally               { return &hits{} }
func (found) of(t tally) float64              { return t.(*hits).share() }

func (f found) forward(c *cell) {
	t, of := c.tally.(*hits), shares[f.kindOf]
	for i := range c.in[0].rows() {
		said, is := c.told(i)
		if c.in[1].unlabelled(i) {
			t.hit = math.NaN()
		}
		if !of.among(said, is) {
			continue
		}
		t.total++
		if of.hit(said, is) {
			t.hit++
		}
	}
	c.value[0] = float32(t.share())
}

// told returns whether an example is predicted to be positive, and whether it is. For a NaN the prediction is wrong.
func (c *cell) told(i int) (said, is bool) {
	p, is := c.in[0].probability(i), c.in[1].positive(i)
	return p >= 0.5 || p != p && !is, is
}

func toldRight(said, is bool) bool { return said == is }
