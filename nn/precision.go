package nn

import "math"

// Precision is the share of positive labels among the examples whose probability is 0.5 or more, over all batches since
// [Executor.ResetMetrics], of shape [1]; NaN when there are none, or a label is NaN. pred and label are as for [AUC].
func Precision(pred, label *Node) *Node { return apply("", precision{}, pred, label) }

// Recall is the share of the examples with a positive label whose probability is 0.5 or more, over all batches since
// [Executor.ResetMetrics], of shape [1]; NaN when there are none, or a label is NaN. pred and label are as for [AUC].
func Recall(pred, label *Node) *Node { return apply("", recall{}, pred, label) }

// BinaryAccuracy is the share of examples that are classified correctly, as positive if their probability is 0.5 or
// more and as negative otherwise, over all batches since [Executor.ResetMetrics]; its shape is [1]. A score that
// is NaN counts as wrong, and a label that is makes it NaN. pred and label are as for [AUC].
func BinaryAccuracy(pred, label *Node) *Node { return apply("", binaryAccuracy{}, pred, label) }

// found has the methods that these metrics share: the fraction of right answers among the counted ones.
type found struct{}

func (found) infer(in []*Node) ([]int, error) { return []int{1}, binary(in[0], in[1]) }
func (found) compares()                       {}
func (found) limits(n *Node) []limit          { return []limit{labels01(n)} }
func (found) backward(*cell)                  {}
func (found) tally(*Node) tally               { return &hits{} }
func (found) of(t tally) float64              { return t.(*hits).share() }

// count counts the examples for which among is true, and those of them for which hit is true. said means a probability
// of 0.5 or more, is a positive label.
func (found) count(c *cell, among, hit func(said, is bool) bool) {
	t := c.tally.(*hits)
	for i := range c.in[0].rows() {
		said, is := c.told(i)
		if c.in[1].unlabelled(i) {
			t.hit = math.NaN()
		}
		if !among(said, is) {
			continue
		}
		t.total++
		if hit(said, is) {
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

func saidPositive(said, _ bool) bool { return said }
func isPositive(_, is bool) bool     { return is }
func anyExample(_, _ bool) bool      { return true }
func foundIt(said, is bool) bool     { return said && is }
func toldRight(said, is bool) bool   { return said == is }

type precision struct{ found }

func (precision) kind() string      { return "precision" }
func (p precision) forward(c *cell) { p.count(c, saidPositive, foundIt) }

type recall struct{ found }

func (recall) kind() string      { return "recall" }
func (r recall) forward(c *cell) { r.count(c, isPositive, foundIt) }

type binaryAccuracy struct{ found }

func (binaryAccuracy) kind() string      { return "binary_accuracy" }
func (b binaryAccuracy) forward(c *cell) { b.count(c, anyExample, toldRight) }
