package nn

import (
	"fmt"
	"math"
	"slices"

	"github.com/gofleet/gofleet/internal/histogram"
)

// aucThresholds is the number of thresholds of the original's AUC, and fineThresholds that of AUC; the number of
// buckets is one larger.
const (
	aucThresholds  = 4095
	fineThresholds = histogram.OddsBuckets - 1
)

// AUC is the area under the ROC curve over all batches since [Executor.ResetMetrics], of shape [1]. pred has
// probabilities, of shape [N 1], or [N 2] with the second column counting; label is 0 or 1, float32 (where anything
// between counts as 1) or int64, of shape [N 1]; others are an error, as of [LogLoss]. A label that is computed from
// parameters is refused, as in all ops with a label: use [Detach] to turn a prediction into a label.
//
// Scores go into 65,536 buckets, 1,024 for each doubling of the odds p/(1−p) from 2⁻⁴⁰ to 2²⁴, one histogram for each
// label, and the area is that of the trapezoids between them: within 1e-4 of the sorted scores', however rare the
// events are and up to 1, unless many scores of both labels are nearer to each other than a thousandth of their odds.
// It is 0.5 as long as one of the labels has not been seen, and NaN when a score or a label was. [Executor.Histogram]
// has the counts.
func AUC(pred, label *Node) *Node { return AUCOf(pred, label, fineThresholds) }

// AUCOf is [AUC] with thresholds+1 buckets of equal width, ⌊p·thresholds⌋; with 65535 it is AUC itself. The original's
// auc has 4095 thresholds, and can be off by some hundredths where events are rare.
func AUCOf(pred, label *Node, thresholds int) *Node {
	return apply("", auc{Thresholds: &thresholds}, pred, label)
}

// BatchAUC is the AUC of the batch alone, of shape [1], beside that of all batches. It has 4096 buckets, ⌊p·4095⌋, as
// [AUCOf] with 4095 thresholds: the log says so once if half of the scores lie in one of them.
func BatchAUC(pred, label *Node) *Node { return apply("", batchAUC{}, pred, label) }

type auc struct {
	Thresholds *int `json:"thresholds,omitempty"` // nil is aucThresholds
}

func (auc) kind() string           { return "auc" }
func (auc) compares()              {}
func (auc) limits(n *Node) []limit { return []limit{labels01(n)} }

// maxThresholds bounds the memory of a histogram in a saved graph.
const maxThresholds = 1 << 24

func (a auc) infer(in []*Node) ([]int, error) {
	if n := a.thresholds(); n < 1 || n > maxThresholds {
		return nil, fmt.Errorf("%d thresholds: between 1 and %d are needed", n, maxThresholds)
	}
	return []int{1}, binary(in[0], in[1])
}

func (a auc) thresholds() int {
	if a.Thresholds == nil {
		return aucThresholds
	}
	return *a.Thresholds
}

// binary returns an error unless pred has probabilities of two classes and label has labels for them.
func binary(pred, label *Node) error {
	if w := pred.perExample(); len(pred.shape) != 2 || w > 2 || pred.shape[0] != batch || label.shape[0] != batch ||
		label.perExample() != 1 {
		return fmt.Errorf("shapes [N 1] or [N 2], and [N 1] are needed, not %v and %v", pred, label)
	}
	if isInt(label) {
		return wantFloat([]*Node{pred})
	}
	return wantFloat([]*Node{pred, label})
}

func (a auc) forward(c *cell) { c.value[0] = float32(a.of(c.countScores())) }

// countScores adds this batch to the histogram.
func (c *cell) countScores() *Histogram {
	h, pred := c.tally.(*Histogram), c.in[0]
	for i := range pred.rows() {
		h.count(c, i)
	}
	return h
}

// count counts an example's score. A label that is NaN counts as a score that is.
func (h *Histogram) count(c *cell, i int) {
	if c.in[1].unlabelled(i) {
		h.nans++
		return
	}
	h.Add(c.in[0].probability(i), c.in[1].positive(i))
}

func (auc) backward(*cell) {}

func (a auc) tally(*Node) tally { return newHistogram(a.thresholds()) }
func (auc) of(t tally) float64  { return t.(*Histogram).AUC() }

// oneClass reports whether a metric is an AUC of scores that all have the same label, for which it has no meaning.
func oneClass(m metric, t tally) bool {
	_, is := m.(auc)
	h, counted := t.(*Histogram)
	return is && counted && (!slices.ContainsFunc(h.Pos, isCount) || !slices.ContainsFunc(h.Neg, isCount))
}

func isCount(n int64) bool { return n > 0 }

// batchAUC is an auc of the last batch only.
type batchAUC struct{ auc }

func (batchAUC) kind() string { return "batch_auc" }
func (batchAUC) batchAlone()  {}

func (b batchAUC) forward(c *cell) {
	c.tally.reset()
	b.auc.forward(c)
	h := c.tally.(*Histogram)
	h.crowd.see(c, h)
}

// probability is the last column of the i-th row.
func (c *cell) probability(i int) float32 {
	width := c.cols()
	return c.value[i*width+width-1]
}

// positive reports whether the i-th label is above 0.
func (c *cell) positive(i int) bool {
	if isInt(c.node) {
		return c.ids[i] > 0
	}
	return c.value[i] > 0
}

// unlabelled reports whether the i-th label is NaN.
func (c *cell) unlabelled(i int) bool { return !isInt(c.node) && c.value[i] != c.value[i] }

// Histogram counts scores by bucket and label, for AUC.
type Histogram struct {
	// Pos and Neg count the examples with a positive and a negative label in each of the buckets ⌊p·(buckets−1)⌋ of a
	// probability p or, if there are 65,536, in the buckets of [AUC].
	Pos, Neg []int64

	from, to int // the buckets of AUC with counts
	nans     int
	outside  error
	crowd    crowding // for an AUC of the batch alone
}

// NewHistogram returns an empty histogram of 4096 buckets.
func NewHistogram() *Histogram { return newHistogram(aucThresholds) }

func newHistogram(thresholds int) *Histogram {
	return &Histogram{Pos: make([]int64, thresholds+1), Neg: make([]int64, thresholds+1)}
}

// Add counts one score, a probability.
func (h *Histogram) Add(p float32, positive bool) {
	switch {
	case p != p:
		h.nans++
	case p < 0 || p > 1:
		h.outside = fmt.Errorf("score %v is not a probability between 0 and 1: pass it through Sigmoid or Softmax", p)
	case positive:
		h.Pos[h.bucket(p)]++
	default:
		h.Neg[h.bucket(p)]++
	}
}

// fine reports whether the buckets are AUC's.
func (h *Histogram) fine() bool { return len(h.Pos) == histogram.OddsBuckets }

func (h *Histogram) bucket(p float32) int {
	if !h.fine() {
		return int(p * float32(len(h.Pos)-1))
	}
	i := histogram.Odds(p)
	if h.to == 0 {
		h.from = i
	}
	h.from, h.to = min(h.from, i), max(h.to, i+1)
	return i
}

// AUC is the area under the ROC curve of the scores counted: 0.5 when one of the labels is absent, NaN when a score was
// NaN.
func (h *Histogram) AUC() float64 {
	if h.nans > 0 {
		return math.NaN()
	}
	if h.fine() && h.to > 0 {
		return histogram.AUC(h.Pos[h.from:h.to], h.Neg[h.from:h.to])
	}
	return histogram.AUC(h.Pos, h.Neg)
}

// BucketError says how far the scores counted are from the labels observed: see the function [BucketError]. It is NaN
// when a score was NaN.
func (h *Histogram) BucketError() float64 {
	if h.nans > 0 {
		return math.NaN()
	}
	return histogram.BucketError(h.Pos, h.Neg)
}

func (h *Histogram) reset() {
	clear(h.Pos)
	clear(h.Neg)
	h.nans, h.outside, h.from, h.to = 0, nil, 0, 0
}

func (h *Histogram) problem() error {
	err := h.outside
	h.outside = nil
	return err
}

// Histogram returns the counts behind an AUC or a BucketError node in this executor: the number of examples with a
// positive and a negative label in each bucket. The slices belong to the executor.
func (e *Executor) Histogram(auc *Node) (pos, neg []int64, err error) {
	t, err := e.tally("Histogram", auc)
	if err != nil {
		return nil, nil, err
	}
	return histogramOf(auc, t)
}

func histogramOf(n *Node, t tally) (pos, neg []int64, err error) {
	h, ok := t.(*Histogram)
	if !ok {
		return nil, nil, fmt.Errorf("nn: Histogram: %s is not an AUC", n.label())
	}
	return h.Pos, h.Neg, nil
}
