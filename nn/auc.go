package nn

import (
	"errors"
	"fmt"
	"math"
)

// aucThresholds is the number of thresholds of AUC; there is one bucket more.
const aucThresholds = 4095

// AUC is the area under the ROC curve over all batches since [Executor.ResetMetrics], of shape [1]. pred has probabilities, of
// shape [N 1], or [N 2] with the second column counting; label is 0 or 1 (anything above 0), float32 or int64 of shape [N 1].
//
// Scores go into 4096 buckets, ⌊p·4095⌋, one histogram for each label, and the area is that of the trapezoids between them.
// It is 0.5 as long as one of the labels has not been seen, and NaN when a score was. [Executor.Histogram] has the counts.
func AUC(pred, label *Node) *Node { return apply("", auc{}, pred, label) }

// BatchAUC is the AUC of the batch alone, of shape [1], beside that of all batches.
func BatchAUC(pred, label *Node) *Node { return apply("", batchAUC{}, pred, label) }

type auc struct{}

func (auc) kind() string { return "auc" }

func (auc) infer(in []*Node) ([]int, error) {
	pred, label := in[0], in[1]
	if w := pred.perExample(); len(pred.shape) != 2 || w > 2 || pred.shape[0] != batch || label.shape[0] != batch || label.perExample() != 1 {
		return nil, fmt.Errorf("shapes [N 1] or [N 2], and [N 1] are needed, not %v and %v", pred, label)
	}
	if isInt(label) {
		in = in[:1]
	}
	return []int{1}, wantFloat(in)
}

func (auc) forward(c *cell) {
	h, pred := c.tally.(*Histogram), c.in[0]
	width := pred.cols()
	for i := range pred.rows() {
		h.Add(pred.value[i*width+width-1], c.in[1].positive(i))
	}
	c.value[0] = float32(h.AUC())
}

func (auc) backward(*cell) {}

func (auc) tally() tally { return NewHistogram() }

// batchAUC is an auc that forgets the batches before.
type batchAUC struct{ auc }

func (batchAUC) kind() string { return "batch_auc" }

func (b batchAUC) forward(c *cell) {
	c.tally.reset()
	b.auc.forward(c)
}

// positive says whether the i-th label is above 0.
func (c *cell) positive(i int) bool {
	if isInt(c.node) {
		return c.ids[i] > 0
	}
	return c.value[i] > 0
}

// Histogram counts scores by bucket and label, for AUC.
type Histogram struct {
	// Pos and Neg count the examples with a positive and a negative label in each of the buckets ⌊p·4095⌋.
	Pos, Neg []int64

	nans    int
	outside error
}

// NewHistogram returns an empty histogram of 4096 buckets.
func NewHistogram() *Histogram {
	return &Histogram{Pos: make([]int64, aucThresholds+1), Neg: make([]int64, aucThresholds+1)}
}

// Add counts one score, a probability.
func (h *Histogram) Add(p float32, positive bool) {
	switch {
	case p != p:
		h.nans++
	case p < 0 || p > 1:
		h.outside = fmt.Errorf("score %v is not a probability between 0 and 1: pass it through Sigmoid or Softmax", p)
	case positive:
		h.Pos[int(p*aucThresholds)]++
	default:
		h.Neg[int(p*aucThresholds)]++
	}
}

// AUC is the area under the ROC curve of the scores counted: 0.5 when one of the labels is absent, NaN when a score was NaN.
func (h *Histogram) AUC() float64 {
	if h.nans > 0 {
		return math.NaN()
	}
	var pos, neg, area float64
	for i := len(h.Pos) - 1; i >= 0; i-- {
		p, n := float64(h.Pos[i]), float64(h.Neg[i])
		area += n * (pos + pos + p) / 2
		pos, neg = pos+p, neg+n
	}
	if pos == 0 || neg == 0 {
		return 0.5
	}
	return area / (pos * neg)
}

func (h *Histogram) reset() {
	clear(h.Pos)
	clear(h.Neg)
	h.nans, h.outside = 0, nil
}

func (h *Histogram) problem() error {
	err := h.outside
	h.outside = nil
	return err
}

// Histogram returns the counts behind an AUC node in this executor: the number of examples with a positive and a negative
// label in each bucket. The slices belong to the executor.
func (e *Executor) Histogram(auc *Node) (pos, neg []int64, err error) {
	if auc == nil || auc.bad || auc.graph != e.graph {
		return nil, nil, errors.New("nn: Histogram: the node is not one of the executor's graph")
	}
	h, ok := e.cell(auc).tally.(*Histogram)
	if !ok {
		return nil, nil, fmt.Errorf("nn: Histogram: %s is not an AUC", auc.label())
	}
	return h.Pos, h.Neg, nil
}
