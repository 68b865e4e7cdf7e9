package nn

import (
	"fmt"
	"log/slog"
	"math"
	"math/bits"
	"slices"

	"github.com/gofleet/gofleet/internal/histogram"
)

// aucThresholds is the number of thresholds of the original's AUC, and fineThresholds that of AUC; the number of
// buckets is one larger.
const (
	aucThresholds  = 4095
	fineThresholds = histogram.OddsBuckets - 1
	exactScores    = 100_000 // up to which an AUC is of the scores as they are
)

// AUC is the area under the ROC curve over all batches since [Executor.ResetMetrics], of shape [1]. pred has
// probabilities, of shape [N 1], or [N 2] with the second column counting; label is 0 or 1, float32 (where anything
// between counts as 1) or int64, of shape [N 1]; others are an error, as of [LogLoss]. A label that is computed from
// parameters is refused, as in all ops with a label: use [Detach] to turn a prediction into a label.
//
// Scores go into 65,536 buckets, 1,024 for each doubling of the odds p/(1−p) from 2⁻⁴⁰ to 2²⁴, one histogram for each
// label, and the area is that of the trapezoids between them: within 1e-4 of the sorted scores', however rare the
// events are and up to 1. Where so many of both labels share buckets that it might not be, it is that of up to 100,000
// sorted scores; of more, scores nearer to each other than a thousandth of their odds count as equal. It is 0.5 as long
// as one of the labels has not been seen, and NaN when a score or a label was. [Executor.Histogram] has the counts.
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

func (auc) forward(c *cell) {
	h := c.tally.(*Histogram)
	for i := range c.in[0].rows() {
		h.count(c, i)
	}
	if !c.silent {
		c.see() // what embeds an auc has another value of the same counts
	}
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

// Histogram counts scores by bucket and label, for AUC.
type Histogram struct {
	// Pos and Neg count the examples with a positive and a negative label in each of the buckets ⌊p·(buckets−1)⌋ of a
	// probability p or, if there are 65,536, in the buckets of [AUC].
	Pos, Neg []int64

	used    []uint64         // a bit for each bucket of AUC that has counts
	exact   histogram.Scores // of AUC, while they are few
	nans    int
	outside error
	crowd   crowding // for an AUC of the batch alone
}

// NewHistogram returns an empty histogram of 4096 buckets.
func NewHistogram() *Histogram { return newHistogram(aucThresholds) }

func newHistogram(thresholds int) *Histogram {
	h := &Histogram{Pos: make([]int64, thresholds+1), Neg: make([]int64, thresholds+1)}
	if thresholds == fineThresholds {
		h.exact.Most, h.used = exactScores, make([]uint64, histogram.OddsBuckets/64)
	}
	return h
}

// Add counts one score, a probability.
func (h *Histogram) Add(p float32, positive bool) {
	switch {
	case p != p:
		h.nans++
	case p < 0 || p > 1:
		h.outside = notProbability(p)
	case positive:
		h.Pos[h.bucket(p, true)]++
	default:
		h.Neg[h.bucket(p, false)]++
	}
}

func notProbability(p float32) error {
	return fmt.Errorf("score %v is not a probability between 0 and 1: pass it through Sigmoid or Softmax", p)
}

// fine reports whether the buckets are AUC's.
func (h *Histogram) fine() bool { return h.used != nil }

func (h *Histogram) bucket(p float32, positive bool) int {
	if !h.fine() {
		return int(p * float32(len(h.Pos)-1))
	}
	i := histogram.Odds(p)
	h.exact.Add(0, p, positive, 1)
	h.used[i/64] |= 1 << (i % 64)
	return i
}

// AUC is the area under the ROC curve of the scores counted: 0.5 when one of the labels is absent, NaN when a score was
// NaN.
func (h *Histogram) AUC() float64 {
	if h.nans > 0 {
		return math.NaN()
	}
	if !h.fine() {
		return histogram.AUC(h.Pos, h.Neg)
	}
	var c histogram.Curve
	for w, word := range slices.Backward(h.used) {
		for word != 0 {
			bit := bits.Len64(word) - 1
			word &^= 1 << bit
			c.Add(float64(h.Pos[64*w+bit]), float64(h.Neg[64*w+bit]))
		}
	}
	if area, known := c.AUC(&h.exact); known {
		return area
	}
	return 0.5
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
	clear(h.used)
	h.nans, h.outside = 0, nil
	h.exact.Reset()
}

func (h *Histogram) problem() error {
	err := h.outside
	h.outside = nil
	return err
}

// Histogram returns the counts behind an AUC or a BucketError node in this executor: the number of examples with a
// positive and a negative label in each bucket. The slices belong to the executor.
func (e *Executor) Histogram(auc *Node) (pos, neg []int64, err error) {
	return histogramOf(e.tally("Histogram", auc))
}

func histogramOf(n *Node, t tally, err error) (pos, neg []int64, _ error) {
	h, ok := t.(*Histogram)
	if err != nil {
		return nil, nil, err
	}
	if !ok {
		return nil, nil, fmt.Errorf("nn: Histogram: %s is not an AUC", n.label())
	}
	return h.Pos, h.Neg, nil
}

// SlidingAUC is the AUC of the last steps batches, this one among them, of shape [1]. pred and label are as in
// [AUC], buckets as in [BatchAUC].
func SlidingAUC(pred, label *Node, steps int) *Node {
	return apply("", slidingAUC{Steps: steps}, pred, label)
}

type slidingAUC struct {
	auc
	Steps int `json:"steps"`
}

func (slidingAUC) kind() string { return "sliding_auc" }

func (s slidingAUC) infer(in []*Node) ([]int, error) {
	shape, err := s.auc.infer(in)
	if most := maxThresholds / max(s.thresholds(), 1); err == nil && (s.Steps < 1 || s.Steps > most) {
		err = fmt.Errorf("%d steps: between 1 and %d are needed, for %d thresholds", s.Steps, most, s.thresholds())
	}
	return shape, err
}

func (s slidingAUC) tally(*Node) tally {
	return &recent{steps: s.Steps, sum: newHistogram(s.thresholds())}
}

func (slidingAUC) of(t tally) float64 { return t.(*recent).sum.AUC() }

func (s slidingAUC) forward(c *cell) {
	t, pred := c.tally.(*recent), c.in[0]
	h := t.oldest()
	t.sum.add(h, -1)
	h.reset()
	for i := range pred.rows() {
		h.count(c, i)
	}
	t.sum.add(h, 1)
	t.crowd.see(c, h)
	c.value[0] = float32(s.of(t))
}

// recent are the histograms of the last batches, in a ring, and their sum.
type recent struct {
	steps, at int
	ring      []*Histogram
	sum       *Histogram
	crowd     crowding
}

// oldest returns the histogram that the next batch replaces.
func (t *recent) oldest() *Histogram {
	if len(t.ring) < t.steps {
		t.ring = append(t.ring, &Histogram{Pos: make([]int64, len(t.sum.Pos)), Neg: make([]int64, len(t.sum.Neg))})
		return t.ring[len(t.ring)-1]
	}
	h := t.ring[t.at]
	t.at = (t.at + 1) % t.steps
	return h
}

func (t *recent) reset() {
	t.ring, t.at = nil, 0
	t.sum.reset()
}

func (t *recent) problem() error { return t.sum.problem() }

// add adds the counts of another histogram, times a sign.
func (h *Histogram) add(x *Histogram, sign int64) {
	for i := range h.Pos {
		h.Pos[i] += sign * x.Pos[i]
		h.Neg[i] += sign * x.Neg[i]
	}
	h.nans += int(sign) * x.nans
	if sign > 0 && x.outside != nil {
		h.outside = x.outside
	}
}

// crowding counts, batch after batch, scores that share a bucket of a histogram.
type crowding struct {
	// rows counted so far, and those that shared a bucket with half of their batch; rows is -1 when counting is over
	rows, together int
}

// crowdedAfter is the number of rows after which counting ends.
const crowdedAfter = 2000

// see counts a batch, and logs once if half of the scores share a bucket.
func (r *crowding) see(c *cell, h *Histogram) {
	if r.rows < 0 {
		return
	}
	rows, most := c.in[0].rows(), int64(0)
	for i, n := range h.Pos {
		most = max(most, n+h.Neg[i])
	}
	if r.rows += rows; 2*int(most) >= rows && !alike(c.in[0]) {
		r.together += rows
	}
	if r.rows < crowdedAfter {
		return
	}
	if 2*r.together >= r.rows {
		slog.Warn("nn: half of the scores lie in one bucket, which tells none of them apart: AUC has buckets for "+
			"small probabilities", "metric", c.node.label(), "buckets", len(h.Pos))
	}
	r.rows = -1
}

// alike reports whether all scores of a batch are equal, so that no bucket can separate them.
func alike(pred *cell) bool {
	first := pred.probability(0)
	for i := range pred.rows() {
		if pred.probability(i) != first {
			return false
		}
	}
	return true
}

// BucketError is how far predicted probabilities are from the rates observed, over all batches since
// [Executor.ResetMetrics], of shape [1]: 0 means a model that is right on average in every group with enough examples.
// pred and label are as in [AUC], buckets as in [BatchAUC]; bucket i of 4096 stands for the probability i/4096.
//
// Neighbouring buckets, spanning at most 0.01 of probability, are joined until their mean prediction q̄ over k examples
// is known to √((1−q̄)/(q̄·k)) < 0.05; each such group has the error |observed/q̄ − 1|, and the result is the mean over
// the groups, weighted by examples. It is 0 where no group is known so well, and NaN when a score was.
func BucketError(pred, label *Node) *Node { return apply("", bucketError{}, pred, label) }

// bucketError counts scores as auc does.
type bucketError struct{ auc }

func (bucketError) kind() string { return "bucket_error" }

func (bucketError) of(t tally) float64 { return t.(*Histogram).BucketError() }

func (bucketError) falls() bool { return true }

// scores are those that buckets of AUC only come near to; other histograms keep none.
func (h *Histogram) scores() *histogram.Scores { return &h.exact }

// sums returns the positive counts, the negative counts, and the number of scores that were NaN.
func (h *Histogram) sums() []float64 {
	s := make([]float64, 0, 2*len(h.Pos)+1)
	for _, counts := range [][]int64{h.Pos, h.Neg} {
		for _, n := range counts {
			s = append(s, float64(n))
		}
	}
	return append(s, float64(h.nans))
}

func (h *Histogram) set(s []float64) {
	clear(h.used)
	for i := range h.Pos {
		h.Pos[i], h.Neg[i] = int64(s[i]), int64(s[len(h.Pos)+i])
		if h.fine() && h.Pos[i]|h.Neg[i] != 0 {
			h.used[i/64] |= 1 << (i % 64)
		}
	}
	h.nans = int(s[2*len(h.Pos)])
}
