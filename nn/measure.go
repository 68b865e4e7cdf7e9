package nn

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/gofleet/gofleet/internal/histogram"
)

// PRAUC is the area under the curve of precision over recall, as average precision Σ (Rᵢ − Rᵢ₋₁)·Pᵢ from the highest
// score down (scikit-learn's average_precision_score), over all batches since [Executor.ResetMetrics], of shape [1].
// pred, label and buckets are as in [AUC]; scores of one bucket count as equal. It is 0 as long as there was no
// positive label.
func PRAUC(pred, label *Node) *Node { return measuring("pr_auc", 0, pred, label) }

// F1 is 2·tp/(2·tp + fp + fn) of the examples whose probability is 0.5 or more, the harmonic mean of [Precision] and
// [Recall], over all batches since [Executor.ResetMetrics], of shape [1]; 0 when there are none. pred and label are
// as in [AUC].
func F1(pred, label *Node) *Node { return measuring("f1", 0, pred, label) }

// MacroPrecision is the mean over the classes of the share of right answers among the examples that are said to be of
// the class. Classes that neither labels nor answers have are left out. pred and label are as in [Accuracy].
func MacroPrecision(pred, label *Node) *Node { return measuring("macro_precision", 0, pred, label) }

// MacroRecall is the mean over the classes of the share of the class's examples that are said to be, as
// [MacroPrecision].
func MacroRecall(pred, label *Node) *Node { return measuring("macro_recall", 0, pred, label) }

// MacroF1 is the mean over the classes of 2·tp/(2·tp + fp + fn), as [MacroPrecision].
func MacroF1(pred, label *Node) *Node { return measuring("macro_f1", 0, pred, label) }

// ConfusionMatrix counts examples by label and answer, the class of the highest score. [Executor.Sums] is the matrix,
// row by row, a row for each label; it adds up over workers, as all sums do. The node's own value is the share of the
// diagonal, which is [Accuracy]; it is NaN, as the macro averages are, when all scores of an example were. pred and
// label are as in Accuracy.
func ConfusionMatrix(pred, label *Node) *Node { return measuring("confusion_matrix", 0, pred, label) }

// NDCG is the normalised discounted cumulative gain of the k highest scores (Järvelin and Kekäläinen, 2002), the mean
// over examples: Σ relᵢ/log₂(i+1) over places i from 1, by what it is in the best order. scores have shape [N C].
// relevance is float32 of the same shape and not negative, or int64 of shape [N 1], the one that is relevant. Of equal
// scores the first is higher, and a NaN is not among the highest; examples with nothing relevant are left out.
func NDCG(scores, relevance *Node, k int) *Node { return measuring("ndcg", k, scores, relevance) }

// RecallAt is the share of what is relevant to an example, above 0, that is among the k highest scores, the mean over
// examples. scores and relevance are as in [NDCG]. [Index.Recall] is for items that are more than a batch can score.
func RecallAt(scores, relevance *Node, k int) *Node {
	return measuring("recall_at", k, scores, relevance)
}

// Weighted is a metric of examples that have weights, as [WeightedMean] is of losses: an AUC, Accuracy, TopK,
// BinaryAccuracy, Precision, Recall, MAE, MSE or RMSE, or one of the metrics of this file's kind, such as PRAUC or
// NDCG. weight is float32 or int64 of shape [N 1] and not negative; examples of weight 0 do not count, whatever their
// label is.
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

// measure is a metric that is computed from sums over examples, each of which may have a weight, a third input.
type measure struct {
	Of string `json:"of"`
	K  int    `json:"k,omitempty"`
}

// tallying is what a measure counts, and what it makes of that.
type tallying struct {
	fits  func(m measure, in []*Node) error
	sums  func(in []*Node) int
	add   func(t *additive, c *cell, i int, w float64) // example i
	of    func(t *additive) (v float64, known bool)
	empty float32 // the value while it is not known
	falls bool
}

// measures are the formulas by name. Names are frozen: saved models use them.
var measures = map[string]tallying{
	"pr_auc":                   {twoClasses, ofBuckets, addBucket, precisionArea, 0, false},
	"f1":                       {twoClasses, some(3), addTwoClasses, ofTwo(harmonic), 0, false},
	"macro_precision":          {manyClasses, eachClass, addClasses, macro(precisely), 0, false},
	"macro_recall":             {manyClasses, eachClass, addClasses, macro(completely), 0, false},
	"macro_f1":                 {manyClasses, eachClass, addClasses, macro(harmonic), 0, false},
	"confusion_matrix":         {manyClasses, ofPairs, addPair, diagonal, 0, false},
	"ndcg":                     {ranked, some(2), addMean(gain), meanOf, 0, false},
	"recall_at":                {ranked, some(2), addMean(recalled), meanOf, 0, false},
	"weighted_auc":             {twoClasses, ofBuckets, addBucket, area, 0.5, false},
	"weighted_accuracy":        {manyClasses, some(2), addMean(among), meanOf, 0, false},
	"weighted_precision":       {twoClasses, some(3), addTwoClasses, ofTwo(precisely), 0, false},
	"weighted_recall":          {twoClasses, some(3), addTwoClasses, ofTwo(completely), 0, false},
	"weighted_binary_accuracy": {twoClasses, some(2), addMean(right), meanOf, 0, false},
	"weighted_mae":             {sameNumbers, some(2), addMean(apart(math.Abs)), meanOf, 0, true},
	"weighted_mse":             {sameNumbers, some(2), addMean(apart(squared)), meanOf, 0, true},
	"weighted_rmse":            {sameNumbers, some(2), addMean(apart(squared)), rootOf, 0, true},
}

func (measure) kind() string   { return "measure" }
func (measure) compares()      {}
func (measure) backward(*cell) {}

// called is what nodes of an op are named by.
func called(o op) string {
	if m, ok := o.(measure); ok {
		return m.Of
	}
	return o.kind()
}

func (m measure) infer(in []*Node) ([]int, error) {
	f, ok := measures[m.Of]
	if !ok {
		return nil, fmt.Errorf("there is no %q of %v: metrics over all batches may have weights, "+
			"but for SlidingAUC, BucketError and AUCOf", m.Of, in[0])
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
	t := &additive{tallying: measures[m.Of], k: m.K, s: make([]float64, measures[m.Of].sums(n.in))}
	t.reset()
	return t
}

func (measure) of(t tally) float64 {
	a := t.(*additive)
	if v, known := a.of(a); known {
		return v
	}
	return float64(a.empty)
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
	c.value[0] = float32(m.of(t))
}

// unknown says whether there is nothing yet that a measure could be of.
func unknown(t tally) bool {
	a, is := t.(*additive)
	if !is {
		return false
	}
	_, known := a.of(a)
	return !known
}

// additive are the sums of a measure. Buckets are many: only sums between lo and hi may be above 0.
type additive struct {
	tallying
	k      int
	s      []float64
	lo, hi int
	wrong  error
}

func (t *additive) reset() {
	clear(t.s)
	t.lo, t.hi, t.wrong = len(t.s), 0, nil
}

func (t *additive) problem() error {
	err := t.wrong
	t.wrong = nil
	return err
}

func (t *additive) sums() []float64 { return slices.Clone(t.s) }

func (t *additive) set(s []float64) {
	copy(t.s, s)
	t.lo, t.hi = 0, len(t.s)
}

// What measures take.

func twoClasses(_ measure, in []*Node) error { return binary(in[0], in[1]) }

func manyClasses(m measure, in []*Node) error {
	_, err := accuracy{K: max(m.K, 1)}.infer(in[:2])
	return err
}

func sameNumbers(_ measure, in []*Node) error {
	_, err := measured{}.infer(in[:2])
	return err
}

func ranked(m measure, in []*Node) error {
	scores, relevance := in[0], in[1]
	if m.K < 1 {
		return fmt.Errorf("k is %d, at least 1 is needed", m.K)
	}
	if len(scores.shape) != 2 || scores.shape[0] != batch {
		return fmt.Errorf("scores %v are not of shape [N C]", scores)
	}
	if isInt(relevance) {
		return manyClasses(m, in)
	}
	return sameShape(in[:2])
}

// How many sums they have.

func some(n int) func([]*Node) int { return func([]*Node) int { return n } }
func eachClass(in []*Node) int     { return 3 * in[0].perExample() }
func ofPairs(in []*Node) int       { return in[0].perExample() * in[0].perExample() }
func ofBuckets([]*Node) int        { return 2*histogram.OddsBuckets + 1 }

// What they add up.

// addBucket counts a score in its bucket, of negative labels and of positive ones. The last number is of scores that
// are NaN.
func addBucket(t *additive, c *cell, i int, w float64) {
	p := c.in[0].probability(i)
	switch {
	case p != p:
		t.s[len(t.s)-1] += w
		return
	case p < 0 || p > 1:
		t.wrong = fmt.Errorf("score %v is not a probability between 0 and 1: pass it through Sigmoid or Softmax", p)
		return
	}
	at := 2 * histogram.Odds(p)
	t.lo, t.hi = min(t.lo, at), max(t.hi, at+2)
	if c.in[1].positive(i) {
		at++
	}
	t.s[at] += w
}

// addTwoClasses counts positives that were found, what was said to be positive and is not, and positives that were
// missed.
func addTwoClasses(t *additive, c *cell, i int, w float64) {
	switch said, is := c.told(i); {
	case said && is:
		t.s[0] += w
	case said:
		t.s[1] += w
	case is:
		t.s[2] += w
	}
}

// answer is an example's label, and the class of its highest score; false for a label that is no class.
func (t *additive) answer(c *cell, i int) (label, said int, ok bool) {
	scores := c.in[0].row(i)
	id := c.in[1].ids[i]
	if id < 0 || id >= int64(len(scores)) {
		t.wrong = fmt.Errorf("label %d of example %d is not below %d, the classes", id, i, len(scores))
		return 0, 0, false
	}
	for j, v := range scores {
		if v > scores[said] || scores[said] != scores[said] {
			said = j
		}
	}
	return int(id), said, true
}

// unanswered says whether all scores of an example are NaN, given the answer.
func unanswered(c *cell, i, said int) bool { v := c.in[0].row(i)[said]; return v != v }

// addClasses counts for each class what addTwoClasses does for one. Where there is no answer the result is NaN.
func addClasses(t *additive, c *cell, i int, w float64) {
	label, said, ok := t.answer(c, i)
	switch {
	case ok && unanswered(c, i, said):
		t.s[3*label] = math.NaN()
	case ok && label == said:
		t.s[3*label] += w
	case ok:
		t.s[3*said+1] += w
		t.s[3*label+2] += w
	}
}

func addPair(t *additive, c *cell, i int, w float64) {
	label, said, ok := t.answer(c, i)
	switch classes := c.in[0].cols(); {
	case ok && unanswered(c, i, said):
		t.s[label*classes+label] = math.NaN()
	case ok:
		t.s[label*classes+said] += w
	}
}

// addMean adds up a number of each example that has one, and the weights of these.
func addMean(f func(t *additive, c *cell, i int) (float64, bool)) func(*additive, *cell, int, float64) {
	return func(t *additive, c *cell, i int, w float64) {
		if v, ok := f(t, c, i); ok {
			t.s[0], t.s[1] = t.s[0]+w*v, t.s[1]+w
		}
	}
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func right(_ *additive, c *cell, i int) (float64, bool) {
	return truth(toldRight(c.told(i))), true
}

// among says whether the label is among the k highest scores.
func among(t *additive, c *cell, i int) (float64, bool) {
	label, _, ok := t.answer(c, i)
	if !ok {
		return 0, false
	}
	return truth(place(c.in[0].row(i), label) < t.k), true
}

// apart is the mean of f of the differences of an example's numbers.
func apart(f func(float64) float64) func(*additive, *cell, int) (float64, bool) {
	return func(_ *additive, c *cell, i int) (sum float64, ok bool) {
		row, cols := c.in[0].row(i), c.in[0].cols()
		for j, v := range row {
			sum += f(float64(v) - c.in[1].number(i*cols+j))
		}
		return sum / float64(cols), true
	}
}

func squared(d float64) float64 { return d * d }

// highest are the places of the scores of an example, the highest first, equal scores in their order.
func highest(c *cell, scores []float32) []int32 {
	order := c.scratchInts(len(scores))
	for j := range order {
		order[j] = int32(j)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(scores[b], scores[a]) })
	return order
}

func gain(t *additive, c *cell, i int) (float64, bool) {
	if isInt(c.in[1].node) {
		label, _, ok := t.answer(c, i)
		if !ok {
			return 0, false
		}
		if at := place(c.in[0].row(i), label); at < t.k {
			return 1 / math.Log2(float64(at)+2), true
		}
		return 0, true
	}
	relevance, sum := c.in[1].row(i), [2]float64{}
	for side, scores := range [2][]float32{c.in[0].row(i), relevance} {
		for at, j := range highest(c, scores)[:min(t.k, len(scores))] {
			if scores[j] == scores[j] {
				sum[side] += float64(relevance[j]) / math.Log2(float64(at)+2)
			}
		}
	}
	return sum[0] / sum[1], sum[1] > 0
}

func recalled(t *additive, c *cell, i int) (float64, bool) {
	if isInt(c.in[1].node) {
		return among(t, c, i)
	}
	found, all := 0.0, 0.0
	scores := c.in[0].row(i)
	for at, j := range highest(c, scores) {
		if c.in[1].row(i)[j] > 0 {
			all++
			found += truth(at < t.k && scores[j] == scores[j])
		}
	}
	return found / all, all > 0
}

// What they make of that.

func ratio(a, b float64) (float64, bool) {
	if b == 0 {
		return 0, false
	}
	return a / b, true
}

func meanOf(t *additive) (float64, bool) { return ratio(t.s[0], t.s[1]) }

func rootOf(t *additive) (float64, bool) {
	v, known := meanOf(t)
	return math.Sqrt(v), known
}

func harmonic(tp, fp, fn float64) (float64, float64)  { return 2 * tp, 2*tp + fp + fn }
func precisely(tp, fp, _ float64) (float64, float64)  { return tp, tp + fp }
func completely(tp, _, fn float64) (float64, float64) { return tp, tp + fn }

func ofTwo(of func(tp, fp, fn float64) (a, b float64)) func(*additive) (float64, bool) {
	return func(t *additive) (float64, bool) { return ratio(of(t.s[0], t.s[1], t.s[2])) }
}

// macro is the mean over the classes that labels or answers have.
func macro(of func(tp, fp, fn float64) (a, b float64)) func(*additive) (float64, bool) {
	return func(t *additive) (float64, bool) {
		sum, classes := 0.0, 0.0
		for i := 0; i < len(t.s); i += 3 {
			if n := t.s[i] + t.s[i+1] + t.s[i+2]; n > 0 || n != n {
				v, _ := ratio(of(t.s[i], t.s[i+1], t.s[i+2]))
				sum, classes = sum+v, classes+1
			}
		}
		return ratio(sum, classes)
	}
}

func diagonal(t *additive) (float64, bool) {
	sum, hit, classes := 0.0, 0.0, int(math.Sqrt(float64(len(t.s))))
	for i, n := range t.s {
		sum += n
		if i%(classes+1) == 0 {
			hit += n
		}
	}
	return ratio(hit, sum)
}

// buckets calls f for each pair of sums that may be above 0, the highest scores first; a score that is NaN makes the
// result so.
func (t *additive) buckets(f func(neg, pos float64)) (nan bool) {
	last := len(t.s) - 1
	for at := min(t.hi, last); at > t.lo; at -= 2 {
		f(t.s[at-2], t.s[at-1])
	}
	return t.s[last] > 0
}

// area is that under the ROC curve, as [Histogram.AUC] has it.
func area(t *additive) (float64, bool) {
	var tp, fp, sum float64
	if t.buckets(func(neg, pos float64) {
		sum += neg * (tp + tp + pos) / 2
		tp, fp = tp+pos, fp+neg
	}) {
		return math.NaN(), true
	}
	return ratio(sum, tp*fp)
}

func precisionArea(t *additive) (float64, bool) {
	var tp, all, sum float64
	if t.buckets(func(neg, pos float64) {
		tp, all = tp+pos, all+pos+neg
		if pos > 0 {
			sum += pos * tp / all
		}
	}) {
		return math.NaN(), true
	}
	return ratio(sum, tp)
}
