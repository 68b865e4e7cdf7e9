package nn

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/internal/law"
)

// scored are examples of a metric: scores, labels of their kind, and whole weights.
type scored struct {
	scores, labels arg
	build          func(scores, label *Node) *Node
	twin           func(scores, labels [][]float64) float64 // of rows
}

// TestScoresThatAreNaN: no metric is better for a score that is NaN. Such an example is told wrong, or the metric is NaN, weighted or not.
func TestScoresThatAreNaN(t *testing.T) {
	nan := float32(math.NaN())
	g := NewGraph(1)
	one, y, w := g.Input("one", 1), g.Input("y", 1), g.Input("w", 1)
	three, class, relevant := g.Input("three", 3), g.IDs("class", 1), g.Input("relevant", 3)
	metrics := map[*Node]float64{
		AUC(one, y): math.NaN(), PRAUC(one, y): math.NaN(), BinaryAccuracy(one, y): 0, Precision(one, y): 0, Recall(one, y): 0, F1(one, y): 0,
		Accuracy(three, class): 0, TopK(three, class, 5): 0, ConfusionMatrix(three, class): math.NaN(),
		MacroPrecision(three, class): math.NaN(), MacroRecall(three, class): math.NaN(), MacroF1(three, class): math.NaN(),
		NDCG(three, relevant, 2): 0, NDCG(three, class, 2): 0, RecallAt(three, relevant, 2): 0, RecallAt(three, class, 5): 0,
	}
	for n, want := range maps.Clone(metrics) {
		if k := n.op.kind(); k != "batch_accuracy" {
			metrics[Weighted(n, w)] = want
		}
	}
	batch := map[string]*tensor.Dense{"one": Floats([]float32{nan, nan}, 1), "y": Floats([]float32{0, 1}, 1), "w": Floats([]float32{1, 2}, 1),
		"three": Floats(slices.Repeat([]float32{nan}, 6), 3), "class": Ints([]int64{0, 2}, 1), "relevant": Floats([]float32{2, 1, 0, 1, 0, 0}, 3)}
	for n, want := range metrics {
		out, err := NewExecutor(g).Eval(t.Context(), batch, n)
		law.Check(t, err)
		if got := Scalar(out[0]); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("%s of scores that are NaN is %v, want %v", n.label(), got, want)
		}
	}
	for _, bad := range []float32{-1, nan} {
		batch["relevant"] = Floats([]float32{2, 1, bad, 1, 0, 0}, 3)
		for _, n := range []*Node{NDCG(three, relevant, 2), RecallAt(three, relevant, 2)} {
			if _, err := NewExecutor(g).Eval(t.Context(), batch, n); err == nil || !strings.Contains(err.Error(), "no relevance") {
				t.Errorf("%s of a relevance of %v: error %v", n.label(), bad, err)
			}
		}
	}
}

// rank is the place of a score among an example's, from 0.
func rank(scores []float64, of int) (above int) {
	for j, s := range scores {
		if s > scores[of] || s == scores[of] && j < of {
			above++
		}
	}
	return above
}

func bestOf(scores []float64) int { return slices.Index(scores, slices.Max(scores)) }

// counts64 are true and false positives and what was missed, of one class.
func counts64(scores, labels [][]float64, class int) (tp, fp, fn float64) {
	for i := range scores {
		said, is := bestOf(scores[i]) == class, int(labels[i][0]) == class
		if len(scores[i]) == 1 {
			said, is = (scores[i][0] >= 0.5) == (class == 1), (labels[i][0] > 0) == (class == 1)
		}
		tp, fp, fn = tp+truth(said && is), fp+truth(said && !is), fn+truth(!said && is)
	}
	return tp, fp, fn
}

func macro64(of func(tp, fp, fn float64) (float64, float64)) func(scores, labels [][]float64) float64 {
	return func(scores, labels [][]float64) float64 {
		sum, n := 0.0, 0.0
		for class := range scores[0] {
			tp, fp, fn := counts64(scores, labels, class)
			if a, b := of(tp, fp, fn); tp+fp+fn > 0 {
				n++
				if b > 0 {
					sum += a / b
				}
			}
		}
		return sum / n
	}
}

// precision64 is average precision from the sorted scores.
func precision64(scores, labels [][]float64) float64 {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return int(math.Copysign(1, scores[b][0]-scores[a][0])) })
	tp, sum := 0.0, 0.0
	for i, at := range order {
		if labels[at][0] > 0 {
			tp++
			sum += tp / float64(i+1)
		}
	}
	return sum / tp
}

func eachRow(f func(scores, labels []float64) (float64, bool)) func(scores, labels [][]float64) float64 {
	return func(scores, labels [][]float64) float64 {
		sum, n := 0.0, 0.0
		for i := range scores {
			if v, ok := f(scores[i], labels[i]); ok {
				sum, n = sum+v, n+1
			}
		}
		return sum / n
	}
}

// gained64 is the gain of the k best by scores.
func gained64(scores, relevance []float64, k int) (sum float64) {
	for j, rel := range relevance {
		if at := rank(scores, j); at < k {
			sum += rel / math.Log2(float64(at)+2)
		}
	}
	return sum
}

// relevance gives each class of a label 1 and others 0.
func relevance(scores, label []float64) []float64 {
	if len(label) == len(scores) {
		return label
	}
	rel := make([]float64, len(scores))
	rel[int(label[0])] = 1
	return rel
}

func ndcg64(k int) func(scores, labels [][]float64) float64 {
	return eachRow(func(scores, label []float64) (float64, bool) {
		rel := relevance(scores, label)
		ideal := gained64(rel, rel, k)
		return gained64(scores, rel, k) / ideal, ideal > 0
	})
}

func recall64(k int) func(scores, labels [][]float64) float64 {
	return eachRow(func(scores, label []float64) (float64, bool) {
		found, all := 0.0, 0.0
		for j, rel := range relevance(scores, label) {
			if rel > 0 {
				all++
				found += truth(rank(scores, j) < k)
			}
		}
		return found / all, all > 0
	})
}

func at(k int, f func(a, b *Node, k int) *Node) func(a, b *Node) *Node {
	return func(a, b *Node) *Node { return f(a, b, k) }
}

func measureCases(n, classes int) map[string]scored {
	p, two := arg{numbers, []int{n, 1}, 0, 1}, arg{labels, []int{n, 1}, 0, 2}
	scores, class := arg{numbers, []int{n, classes}, 0, 1}, arg{labels, []int{n, 1}, 0, float64(classes)}
	grades := arg{numbers, []int{n, classes}, 0, 3}
	return map[string]scored{
		"pr_auc":           {p, two, PRAUC, precision64},
		"f1":               {p, two, F1, func(s, l [][]float64) float64 { a, b := harmonic(counts64(s, l, 1)); return a / b }},
		"macro_precision":  {scores, class, MacroPrecision, macro64(precisely)},
		"macro_recall":     {scores, class, MacroRecall, macro64(completely)},
		"macro_f1":         {scores, class, MacroF1, macro64(harmonic)},
		"confusion_matrix": {scores, class, ConfusionMatrix, recall64(1)},
		"ndcg":             {scores, class, at(2, NDCG), ndcg64(2)},
		"ndcg graded":      {scores, grades, at(3, NDCG), ndcg64(3)},
		"recall_at":        {scores, class, at(2, RecallAt), recall64(2)},
		"recall_at graded": {scores, grades, at(3, RecallAt), recall64(3)},
		"weighted_auc":     {p, two, AUC, nil}, "weighted_accuracy": {scores, class, Accuracy, nil},
		"weighted_top2":      {scores, class, at(2, TopK), nil},
		"weighted_precision": {p, two, Precision, nil}, "weighted_recall": {p, two, Recall, nil},
		"weighted_binary_accuracy": {p, two, BinaryAccuracy, nil},
		"weighted_mae":             {scores, grades, MAE, nil}, "weighted_mse": {scores, grades, MSE, nil},
		"weighted_rmse": {scores, grades, RMSE, nil},
	}
}

// TestMeasures: each is its formula; examples of whole weights count as often as they would come without; what several
// executors count adds up to the metric of all.
//
// Promise: [G2] metrics of sums are their formulas, over batches and executors; a weight counts as so many examples,
// of nothing they are told apart from 0, and none is better for a score that is NaN
// Also: TestMeasuresOfNothing, TestScoresThatAreNaN, TestWeightsInMetrics
func TestMeasures(t *testing.T) {
	law.Slow(t)
	for _, size := range [][2]int{{1, 2}, {3, 2}, {8, 5}, {40, 3}, {37, 37}} {
		for name, c := range measureCases(size[0], size[1]) {
			n := size[0]
			draw := func(a arg, seed uint32) [][]float64 {
				v := a.draw(seed)
				if a.hi == 3 {
					v = map1(func(x float64) float64 { return max(0, math.Floor(x)-1) })([][]float64{v})
				}
				return slices.Collect(slices.Chunk(v, len(v)/n))
			}
			scores, label, weights := draw(c.scores, 3), draw(c.labels, 4), integers(5, n, 3)
			var many, manyLabels [][]float64
			for i, w := range weights {
				many = append(many, slices.Repeat(scores[i:i+1], int(w))...)
				manyLabels = append(manyLabels, slices.Repeat(label[i:i+1], int(w))...)
			}
			plain, want := c.measured(t, scores, label, nil)
			if c.twin != nil {
				sameNumber(t, name, size, plain, c.twin(scores, label))
			}
			sameNumber(t, name+" of two executors", size, want, plain)
			if len(many) == 0 {
				continue
			}
			repeated, _ := c.measured(t, many, manyLabels, nil)
			weighted, summed := c.measured(t, scores, label, weights)
			sameNumber(t, name+" weighted", size, weighted, repeated)
			sameNumber(t, name+" weighted, of two executors", size, summed, repeated)
		}
	}
}

func sameNumber(t *testing.T, name string, size [2]int, got, want float64) {
	t.Helper()
	unknown := func(v float64) bool { return math.IsNaN(v) || v == 0 || v == 0.5 }
	if math.Abs(got-want) > 2e-6 || (math.IsNaN(got) || math.IsNaN(want)) && !(unknown(got) && unknown(want)) {
		t.Errorf("%s of %v: %v, want %v", name, size, got, want)
	}
}

// measured is the metric's value in one executor, and that of the sums of two that have a part of the rows each.
func (c scored) measured(t *testing.T, scores, label [][]float64, weights []int64) (alone, added float64) {
	t.Helper()
	g := NewGraph(1)
	s := g.Input("scores", c.scores.shape[1:]...)
	l := g.Input("label", c.labels.shape[1:]...)
	if c.labels.kind == labels {
		l = g.IDs("ids", c.labels.shape[1:]...)
	}
	m := c.build(s, l)
	if weights != nil {
		m = Weighted(m, g.IDs("weights", 1))
	}
	law.Check(t, g.Err())
	feed := func(from, to int) batchOf {
		b := batchOf{"scores": floats([]int{to - from, c.scores.shape[1]}, narrow(slices.Concat(scores[from:to]...))...)}
		rows := slices.Concat(label[from:to]...)
		b["label"] = floats([]int{to - from, c.labels.shape[1]}, narrow(rows)...)
		b["ids"] = int64sOf([]int{to - from, c.labels.shape[1]}, whole(rows)...)
		if weights != nil {
			b["weights"] = int64sOf([]int{to - from, 1}, weights[from:to]...)
		}
		return b
	}
	run := func(parts ...[2]int) (value float64, sums []float64) {
		e := NewExecutor(g)
		for _, p := range parts {
			if p[0] == p[1] {
				continue
			}
			out, err := e.Eval(t.Context(), feed(p[0], p[1]), m)
			law.Check(t, err)
			value = float64(out[0].Float32s()[0])
		}
		sums, err := e.Sums(m)
		law.Check(t, err)
		return value, sums
	}
	n := len(scores)
	alone, _ = run([2]int{0, n / 2}, [2]int{n / 2, n})
	_, sums := run([2]int{0, n / 3})
	_, more := run([2]int{n / 3, n})
	for i, s := range more {
		sums[i] += s
	}
	added, err := m.OfSums(sums)
	law.Check(t, err)
	return alone, added
}

// TestMeasuresOfNothing: what a measure is of one class, of nothing relevant, of examples that weigh nothing, and of NaN.
func TestMeasuresOfNothing(t *testing.T) {
	cases := measureCases(2, 3)
	for name, c := range cases {
		if strings.HasPrefix(name, "weighted") {
			score, label := []float64{0.1, 0.2, 0.3}[:c.scores.shape[1]], []float64{1, 1, 1}[:c.labels.shape[1]]
			alone, added := c.measured(t, [][]float64{score}, [][]float64{label}, []int64{0})
			if known := name == "weighted_auc"; known && alone != 0.5 || !known && !math.IsNaN(alone) || !math.IsNaN(added) {
				t.Errorf("%s of nothing: %v, %v", name, alone, added)
			}
		}
	}
	for _, c := range []struct {
		name         string
		score, label []float64
		alone, added float64
	}{
		{"pr_auc", []float64{0.4}, []float64{0}, math.NaN(), math.NaN()},
		{"pr_auc", []float64{0.4}, []float64{1}, 1, 1},
		{"pr_auc", []float64{math.NaN()}, []float64{1}, math.NaN(), math.NaN()},
		{"f1", []float64{0.4}, []float64{0}, math.NaN(), math.NaN()},
		{"f1", []float64{0.6}, []float64{0}, 0, 0},
		{"macro_f1", []float64{1, 0, 0}, []float64{0}, 1, 1},
		{"ndcg graded", []float64{1, 0, 0}, []float64{0, 0, 0}, math.NaN(), math.NaN()},
		{"recall_at graded", []float64{1, 0, 0}, []float64{0, 0, 0}, math.NaN(), math.NaN()},
		{"recall_at graded", []float64{1, 0, math.NaN()}, []float64{0, 2, 1}, 0.5, 0.5}, // a NaN is not among the highest
	} {
		alone, added := cases[c.name].measured(t, [][]float64{c.score}, [][]float64{c.label}, nil)
		same := func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
		if !same(alone, c.alone) || !same(added, c.added) {
			t.Errorf("%s of %v, %v: %v, %v; want %v, %v", c.name, c.score, c.label, alone, added, c.alone, c.added)
		}
	}
}

// TestWeightsInMetrics: labels of examples without weight may be outside of the classes, others are refused, and so is what
// has no weights.
func TestWeightsInMetrics(t *testing.T) {
	g := NewGraph(1)
	label := g.IDs("label", 1)
	pred, p := g.Input("pred", 3), g.Input("p", 1)
	ignore := ClassWeightOptions{Ignore: new(int64(-100))}
	acc := Weighted(Accuracy(pred, label), ClassWeights(label, ignore)).Named("seen")
	confusion := ConfusionMatrix(pred, label)
	e := NewExecutor(g)
	feed := batchOf{"pred": floats([]int{2, 3}, 1, 0, 0, 0, 1, 0), "label": int64sOf([]int{2, 1}, 0, -100)}
	out, err := e.Eval(t.Context(), feed, acc)
	if err != nil || out[0].Float32s()[0] != 1 || acc.Label() != "seen" || !acc.Counts() || acc.Falls() {
		t.Errorf("%v, %v", out, err)
	}
	feed["label"] = int64sOf([]int{2, 1}, 0, 3)
	if _, err := e.Eval(t.Context(), feed, acc); err == nil || !strings.Contains(err.Error(), "label 3 of example 1 is not below 3") {
		t.Error(err)
	}
	feed["label"] = int64sOf([]int{2, 1}, 2, 1)
	if _, err = e.Eval(t.Context(), feed, confusion); err != nil || confusion.Label() != "confusion_matrix" {
		t.Error(err, confusion.Label())
	}
	if sums, err := e.Sums(confusion); err != nil || !slices.Equal(sums, []float64{0, 0, 0, 0, 1, 0, 1, 0, 0}) {
		t.Errorf("confusion matrix %v, %v", sums, err)
	}
	if !Weighted(MSE(p, p), p).Falls() {
		t.Error("an error that has weights falls too")
	}
	for _, m := range []*Node{BatchAUC(p, p), SlidingAUC(p, p, 2), AUCOf(p, p, 10), BucketError(p, p), Mean(p)} {
		g := NewGraph(1)
		x := g.Input("x", 1)
		if n := apply("", m.op, []*Node{x, x}[:len(m.in)]...); Weighted(n, x).Err() == nil {
			t.Errorf("%v takes weights", m)
		}
	}
	res, err := func() (TrainResult, error) {
		g := NewGraph(1)
		y := g.Input("y", 1)
		p := Linear(y, 1, LinearOptions{Act: Sigmoid})
		Mean(LogLoss(p, y)).Bind(still{})
		batches := []batchOf{{"y": floats([]int{2, 1}, 0, 0)}, {"y": floats([]int{2, 1}, 0, 0)}}
		return TrainThreads(t.Context(), g, 2, func(i int) stream { return func(yield func(batchOf, error) bool) { yield(batches[i], nil) } },
			TrainOptions{Fetch: []*Node{PRAUC(p, y), Weighted(AUC(p, y), y)}})
	}()
	if err != nil || res.Last()[0].Float32s()[0] == res.Last()[0].Float32s()[0] || res.Last()[1].Float32s()[0] != 0.5 {
		t.Errorf("threads that have seen no positive label: %v, %v", res.Last(), err)
	}
	names := slices.Sorted(maps.Keys(measureCases(1, 2)))
	for name := range measures {
		if !slices.Contains(names, name) {
			t.Errorf("no case is of %q: %v", name, fmt.Sprint(names))
		}
	}
}
