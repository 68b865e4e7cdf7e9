package nn

import (
	"fmt"
	"math"
	"slices"

	"github.com/gofleet/gofleet/internal/histogram"
)

// PRAUC is the area under the curve of precision over recall, as average precision Σ (Rᵢ − Rᵢ₋₁)·Pᵢ from the highest
// score down (scikit-learn's average_precision_score), over all batches since [Executor.ResetMetrics], of shape [1].
// pred, label and buckets are as in [AUC]. It is exact of up to 100,000 scores; of more, those of one bucket count as
// equal. It is NaN as long as there was no positive label.
func PRAUC(pred, label *Node) *Node { return measuring("pr_auc", 0, pred, label) }

// F1 is 2·tp/(2·tp + fp + fn) of the examples whose probability is 0.5 or more, the harmonic mean of [Precision] and
// [Recall], over all batches since [Executor.ResetMetrics], of shape [1]; NaN when there are none. pred and label are
// as in [AUC].
func F1(pred, label *Node) *Node { return measuring("f1", 0, pred, label) }

// MacroPrecision is the mean over the classes of the share of right answers among the examples that are predicted to be
// of the class. Classes without a label and without a prediction are left out. pred and label are as in [Accuracy].
func MacroPrecision(pred, label *Node) *Node { return measuring("macro_precision", 0, pred, label) }

// MacroRecall is the mean over the classes of the share of the class's examples that are predicted to be of the class,
// as [MacroPrecision].
func MacroRecall(pred, label *Node) *Node { return measuring("macro_recall", 0, pred, label) }

// MacroF1 is the mean over the classes of 2·tp/(2·tp + fp + fn), as [MacroPrecision].
func MacroF1(pred, label *Node) *Node { return measuring("macro_f1", 0, pred, label) }

// ConfusionMatrix counts examples by label and answer, the class of the highest score. [Executor.Sums] is the matrix,
// row by row, a row for each label; it adds up over workers, as all sums do. The node's own value is the share of the
// diagonal, which is [Accuracy]; like the macro averages, it is NaN if all scores of an example were NaN. pred and
// label are as in Accuracy.
func ConfusionMatrix(pred, label *Node) *Node { return measuring("confusion_matrix", 0, pred, label) }

// NDCG is the normalised discounted cumulative gain of the k highest scores (Järvelin and Kekäläinen, 2002), the mean
// over examples: Σ relᵢ/log₂(i+1) over ranks i from 1, divided by its value in the best order. scores have shape [N C].
// relevance is float32 of the same shape and not negative, or int64 of shape [N 1], the index of the only relevant
// item. Of equal scores the first is higher, and a NaN is not among the highest; examples with nothing relevant are
// left out.
func NDCG(scores, relevance *Node, k int) *Node { return measuring("ndcg", k, scores, relevance) }

// RecallAt is the share of an example's relevant items, with a relevance above 0, that are among the k highest scores,
// as a mean over examples. scores and relevance are as in [NDCG]. For more items than a batch can score there is
// [Index.Recall].
func RecallAt(scores, relevance *Node, k int) *Node {
	return measuring("recall_at", k, scores, relevance)
}

// Weighted is a metric with weighted examples, as [WeightedMean] is for losses: an AUC, Accuracy, TopK, BinaryAccuracy,
// Precision, Recall, MAE, MSE, RMSE, F1, PRAUC, MacroPrecision, MacroRecall, MacroF1, ConfusionMatrix, NDCG or
// RecallAt. weight is float32 or int64 of shape [N 1] and not negative; examples with weight 0 are ignored, even if
// their label is invalid.
//
//	auc := nn.Weighted(nn.AUC(pred, label), weight)
func Weighted(metric, weight *Node) *Node {
	if metric == nil || metric.bad || weight == nil {
		return apply("", measure{}, metric, weight)
	}
	m := measure{Of: "weighted_" + metric.op.kind()}
	switch o := metric.op.(type) {
	case accuracy:
		m.K = o.K
	case measure:
		m = o
	case auc:
		if o.thresholds() != fineThresholds {
			m.Of = "weighted auc of other thresholds"
		}
	}
	return apply("", m, append(slices.Clone(metric.in[:min(2, len(metric.in))]), weight)...)
}

func measuring(of string, k int, pred, label *Node) *Node {
	return apply("", measure{Of: of, K: k}, pred, label)
}

// measure is a metric computed from sums over examples, which may have weights, a third input.
type measure struct {
	Of string `json:"of"`
	K  int    `json:"k,omitempty"`
}

// tallying is how a measure counts, and how its value follows from the counts.
type tallying struct {
	fits  func(m measure, in []*Node) error
	sums  func(in []*Node) int
	add   func(t *additive, c *cell, i int, w float64) // example i
	of    func(t *additive) (v float64, known bool)
	falls bool
}

// measures are the formulas by name. Names are frozen: saved models use them.
var measures = map[string]tallying{
	"pr_auc":                   {twoClasses, ofBuckets, addBucket, numbered(precisionArea), false},
	"f1":                       {twoClasses, some(3), addTwoClasses, ofTwo(harmonic), false},
	"macro_precision":          {manyClasses, eachClass, addClasses, macro(precisely), false},
	"macro_recall":             {manyClasses, eachClass, addClasses, macro(completely), false},
	"macro_f1":                 {manyClasses, eachClass, addClasses, macro(harmonic), false},
	"confusion_matrix":         {manyClasses, ofPairs, addPair, diagonal, false},
	"ndcg":                     {ranked, some(2), addMean(gain), meanOf, false},
	"recall_at":                {ranked, some(2), addMean(recalled), meanOf, false},
	"weighted_auc":             {twoClasses, ofBuckets, addBucket, numbered(area), false},
	"weighted_accuracy":        {manyClasses, some(2), addMean(among), meanOf, false},
	"weighted_precision":       {twoClasses, some(3), addTwoClasses, ofTwo(precisely), false},
	"weighted_recall":          {twoClasses, some(3), addTwoClasses, ofTwo(completely), false},
	"weighted_binary_accuracy": {twoClasses, some(2), addMean(right), meanOf, false},
	"weighted_mae":             {sameNumbers, some(2), addMean(apart(math.Abs)), meanOf, true},
	"weighted_mse":             {sameNumbers, some(2), addMean(apart(squared)), meanOf, true},
	"weighted_rmse":            {sameNumbers, some(2), addMean(apart(squared)), rootOf, true},
}

func (measure) kind() string   { return "measure" }
func (measure) compares()      {}
func (measure) backward(*cell) {}

func (m measure) called() string { return m.Of }
func (m measure) falls() bool    { return measures[m.Of].falls }

func (m measure) infer(in []*Node) ([]int, error) {
	f, ok := measures[m.Of]
	if !ok {
		return nil, fmt.Errorf("no metric %q of %v: metrics over all batches may have weights, "+
			"except SlidingAUC, BucketError and AUCOf", m.Of, in[0])
	}
	if err := f.fits(m, in); err != nil {
		return nil, err
	}
	if n := f.sums(in); n > maxExample {
		return nil, fmt.Errorf("%v has too many classes: %d sums, more than %d", in[0], n, maxExample)
	}
	if len(in) < 3 {
		return []int{1}, nil
	}
	if in[2].shape[0] != batch || in[2].perExample() != 1 {
		return nil, fmt.Errorf("weights %v are not one number an example", in[2])
	}
	return []int{1}, weighable(in[0], in[2])
}

func (m measure) limits(n *Node) (all []limit) {
	if (m.Of == "ndcg" || m.Of == "recall_at") && !isInt(n.in[1]) {
		all = append(all, limit{input: 1, between: &span{0, math.MaxFloat32, false},
			why: fmt.Sprintf("no relevance for %s, from 0", n.label())})
	}
	if len(n.in) == 3 {
		all = append(all, weightLimit(n, 2))
	}
	return all
}

func (m measure) tally(n *Node) tally {
	t := &additive{tallying: measures[m.Of], k: m.K, s: make([]float64, measures[m.Of].sums(n.in)),
		exact: histogram.Scores{Most: exactScores}}
	t.reset()
	return t
}

func (m measure) of(t tally) float64 {
	a := t.(*additive)
	switch v, known := a.of(a); {
	case known:
		return v
	case m.Of == "weighted_auc": // as of AUC
		return 0.5
	}
	return math.NaN()
}

func (m measure) forward(c *cell) {
	t := c.tally.(*additive)
	for i := range c.in[0].rows() {
		w := 1.0
		if len(c.in) > 2 {
			w = c.in[2].number(i)
		}
		if w != 0 {
			t.add(t, c, i, w)
		}
	}
	if !c.silent {
		c.see()
	}
}

// unknown reports whether a measure has no value yet.
func unknown(t tally) bool {
	a, is := t.(*additive)
	if !is {
		return false
	}
	_, known := a.of(a)
	return !known
}

// Checks of a measure's inputs.

func twoClasses(_ measure, in []*Node) error { return binary(in[0], in[1]) }

func manyClasses(m measure, in []*Node) error {
	_, err := accuracy{K: max(m.K, 1)}.infer(in[:2])
	return err
}

func sameNumbers(_ measure, in []*Node) error {
	pred, label := in[0], in[1]
	if !equalShapes(pred.shape, label.shape) {
		return fmt.Errorf("shapes differ: %v and %v", pred, label)
	}
	if isInt(label) {
		return wantFloat(in[:1])
	}
	return wantFloat(in[:2])
}

func ranked(m measure, in []*Node) error {
	scores, relevance := in[0], in[1]
	if m.K < 1 {
		return fmt.Errorf("k is %d, at least 1 is needed", m.K)
	}
	if len(scores.shape) != 2 || scores.shape[0] != batch {
		return fmt.Errorf("scores %v are not of shape [N C]", scores)
	}
	if scores.shape[1] == 1 {
		return fmt.Errorf("scores %v rank the one item of an example, which is always first: for one score an "+
			"example, use AUC", scores)
	}
	if isInt(relevance) {
		return manyClasses(m, in)
	}
	return sameShape(in[:2])
}

// Numbers of sums.

func some(n int) func([]*Node) int { return func([]*Node) int { return n } }
func eachClass(in []*Node) int     { return 3 * in[0].perExample() }
func ofPairs(in []*Node) int       { return in[0].perExample() * in[0].perExample() }
func ofBuckets([]*Node) int        { return 2*histogram.OddsBuckets + 1 }

// Functions that add an example to the sums.

// Functions that compute the value.
