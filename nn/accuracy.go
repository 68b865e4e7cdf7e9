package nn

import (
	"fmt"
	"math"
)

// Accuracy is the share of examples, over all batches since [Executor.ResetMetrics], whose label has the highest score;
// its shape is [1]. pred has shape [N classes], label is int64 of shape [N 1]. A single probability has
// [BinaryAccuracy]; the original's accuracy is [BatchAccuracy].
func Accuracy(pred, label *Node) *Node { return TopK(pred, label, 1) }

// TopK is Accuracy that also counts a label among the k highest scores. Of equal scores the one of the lower class is
// higher; a label whose score is NaN is not among them.
func TopK(pred, label *Node, k int) *Node {
	return apply("", accuracy{K: k}, pred, label)
}

// BatchAccuracy is the Accuracy of the batch alone, as the original's is, beside that of all batches.
func BatchAccuracy(pred, label *Node) *Node { return BatchTopK(pred, label, 1) }

// BatchTopK is the TopK of the batch alone.
func BatchTopK(pred, label *Node, k int) *Node {
	return apply("", batchAccuracy{accuracy{K: k}}, pred, label)
}

type accuracy struct {
	K int `json:"k"`
}

func (accuracy) kind() string { return "accuracy" }
func (accuracy) compares()    {}

func (a accuracy) infer(in []*Node) ([]int, error) {
	if a.K < 1 {
		return nil, fmt.Errorf("k is %d, at least 1 is needed", a.K)
	}
	_, err := perLabel(in[0], in[1])
	if err == nil && in[0].perExample() == 1 {
		err = fmt.Errorf("%v has one class, which every label is", in[0])
	}
	if err != nil && in[0].perExample() == 1 {
		err = fmt.Errorf("%w; for one probability an example, use BinaryAccuracy", err)
	}
	return []int{1}, err
}

func (accuracy) limits(n *Node) []limit { return []limit{classLimit(n)} }

func (a accuracy) forward(c *cell) {
	t, pred := c.tally.(*hits), c.in[0]
	classes := pred.cols()
	for i, label := range c.in[1].ids {
		t.total++
		if place(pred.value[i*classes:(i+1)*classes], int(label)) < a.K {
			t.hit++
		}
	}
	c.value[0] = float32(t.share())
}

func (accuracy) backward(*cell) {}

func (accuracy) tally(*Node) tally  { return &hits{} }
func (accuracy) of(t tally) float64 { return t.(*hits).share() }

// batchAccuracy is an accuracy of the last batch only.
type batchAccuracy struct{ accuracy }

func (batchAccuracy) kind() string { return "batch_accuracy" }
func (batchAccuracy) batchAlone()  {}

func (b batchAccuracy) forward(c *cell) {
	c.tally.reset()
	b.accuracy.forward(c)
}

// place is the number of scores above the label's score; for a NaN it is larger than any count.
func place(scores []float32, label int) int {
	s := scores[label]
	if s != s {
		return math.MaxInt
	}
	above := 0
	for i, v := range scores {
		if v > s || v == s && i < label {
			above++
		}
	}
	return above
}

// hits are the counts of right answers and of all.
type hits struct{ hit, total float64 }

// share is NaN if nothing was counted, or a label was NaN.
func (t *hits) share() float64 { return t.hit / t.total }

func (t *hits) reset()         { *t = hits{} }
func (t *hits) problem() error { return nil }

// Hits returns the counts behind an Accuracy, TopK, BinaryAccuracy, Precision or Recall node in this executor: right
// answers, and all. A metric of the batch alone has the last batch's.
func (e *Executor) Hits(accuracy *Node) (hit, total int64, err error) {
	return hitsOf(e.tally("Hits", accuracy))
}

func hitsOf(n *Node, t tally, err error) (hit, total int64, _ error) {
	h, ok := t.(*hits)
	if err != nil {
		return 0, 0, err
	}
	if !ok {
		return 0, 0, fmt.Errorf("nn: Hits: %s counts no right answers", n.label())
	}
	if h.hit != h.hit {
		return 0, 0, fmt.Errorf("nn: Hits: a label of %s is NaN", n.label())
	}
	return int64(h.hit), int64(h.total), nil
}

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
		said, is := c.predicted(i)
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

// predicted returns whether an example is predicted to be positive, and whether it is. For a NaN the prediction is
// wrong.
func (c *cell) predicted(i int) (said, is bool) {
	p, is := c.in[0].probability(i), c.in[1].positive(i)
	return p >= 0.5 || p != p && !is, is
}

func toldRight(said, is bool) bool { return said == is }

func (t *hits) sums() []float64 { return []float64{t.hit, t.total} }

func (t *hits) set(s []float64) { t.hit, t.total = s[0], s[1] }
