package nn

import (
	"math"
)

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

// buckets calls f for each pair of sums that may be nonzero, the highest scores first; a score that is NaN makes the
// result NaN.
func (t *additive) buckets(f func(neg, pos float64)) (nan bool) {
	last := len(t.s) - 1
	for at := min(t.hi, last); at > t.lo; at -= 2 {
		f(t.s[at-2], t.s[at-1])
	}
	return t.s[last] > 0
}

// area is the area under the ROC curve, as in [Histogram.AUC].
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
