package nn

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/gofleet/gofleet/internal/histogram"
)

// additive are the sums of a measure. Buckets are many: only sums between lo and hi may be nonzero.
type additive struct {
	tallying
	k      int
	s      []float64
	lo, hi int
	exact  histogram.Scores // of buckets, while they are few
	wrong  error
}

func (t *additive) reset() {
	clear(t.s)
	t.lo, t.hi, t.wrong = len(t.s), 0, nil
	t.exact.Reset()
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

// addBucket counts a score in its bucket, separately for negative and positive labels. The last sum counts scores that
// are NaN.
func addBucket(t *additive, c *cell, i int, w float64) {
	p := c.in[0].probability(i)
	switch {
	case !t.binary(c, i):
		return
	case p != p || c.in[1].unlabelled(i):
		t.s[len(t.s)-1] += w
		return
	case p < 0 || p > 1:
		t.wrong = notProbability(p)
		return
	}
	at := 2 * histogram.Odds(p)
	t.lo, t.hi = min(t.lo, at), max(t.hi, at+2)
	t.exact.Add(0, p, c.in[1].positive(i), w)
	if c.in[1].positive(i) {
		at++
	}
	t.s[at] += w
}

// addTwoClasses counts true positives, false positives and false negatives.
func addTwoClasses(t *additive, c *cell, i int, w float64) {
	switch said, is := c.predicted(i); {
	case !t.binary(c, i):
	case c.in[1].unlabelled(i):
		t.s[0] = math.NaN()
	case said && is:
		t.s[0] += w
	case said:
		t.s[1] += w
	case is:
		t.s[2] += w
	}
}

// binary reports whether an example's label is one of two classes, or NaN; another is an error.
func (t *additive) binary(c *cell, i int) bool {
	label := c.in[1].number(i)
	if label < 0 || label > 1 {
		t.wrong = fmt.Errorf("label %v of example %d is neither 0 nor 1 (or between, as float32)", label, i)
		return false
	}
	return true
}

// answer returns an example's label, and the class of its highest score; false for an invalid label.
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

// unanswered reports whether all scores of an example are NaN, given the answer.
func unanswered(c *cell, i, said int) bool { v := c.in[0].row(i)[said]; return v != v }

// addClasses counts for each class what addTwoClasses counts for one. An example without an answer makes the result
// NaN.
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

// addMean adds up a number of each example that has one, and the weights of these examples.
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

func right(t *additive, c *cell, i int) (float64, bool) {
	if c.in[1].unlabelled(i) {
		return math.NaN(), true
	}
	return truth(toldRight(c.predicted(i))), t.binary(c, i)
}

// among reports whether the label is among the k highest scores.
func among(t *additive, c *cell, i int) (float64, bool) {
	label, _, ok := t.answer(c, i)
	if !ok {
		return 0, false
	}
	return truth(place(c.in[0].row(i), label) < t.k), true
}

// apart is the mean of f over the differences of an example's numbers.
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

// highest returns the places of an example's scores, the highest first, equal scores in their order.
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

func harmonic(tp, fp, fn float64) (float64, float64) { return 2 * tp, 2*tp + fp + fn }

func precisely(tp, fp, _ float64) (float64, float64) { return tp, tp + fp }

func completely(tp, _, fn float64) (float64, float64) { return tp, tp + fn }

func ofTwo(of func(tp, fp, fn float64) (a, b float64)) func(*additive) (float64, bool) {
	return func(t *additive) (float64, bool) { return ratio(of(t.s[0], t.s[1], t.s[2])) }
}

// macro is the mean over the classes that occur in labels or answers.
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

func (t *additive) scores() *histogram.Scores { return &t.exact }

// numbered is a metric of scores, which one that is NaN makes NaN.
func numbered(of func(*additive) (float64, bool)) func(*additive) (float64, bool) {
	return func(t *additive) (float64, bool) {
		if t.s[len(t.s)-1] > 0 {
			return math.NaN(), true
		}
		return of(t)
	}
}

// buckets calls f for each pair of sums that may be nonzero, the highest scores first.
func (t *additive) buckets(f func(neg, pos float64)) {
	for at := min(t.hi, len(t.s)-1); at > t.lo; at -= 2 {
		f(t.s[at-2], t.s[at-1])
	}
}

// area is the area under the ROC curve, as in [Histogram.AUC].
func area(t *additive) (float64, bool) {
	var c histogram.Curve
	t.buckets(func(neg, pos float64) { c.Add(pos, neg) })
	return c.AUC(&t.exact)
}

// precisionArea is the average precision, of the scores as they are while they are few.
func precisionArea(t *additive) (float64, bool) {
	if v, all := t.exact.PRAUC(); all {
		return v, true
	}
	var tp, all, sum float64
	t.buckets(func(neg, pos float64) {
		tp, all = tp+pos, all+pos+neg
		if pos > 0 {
			sum += pos * tp / all
		}
	})
	return ratio(sum, tp)
}
