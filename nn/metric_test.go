package nn

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/histogram"
	"github.com/gofleet/gofleet/internal/law"
	"pgregory.net/rapid"
)

// pairsAUC is the twin: the share of pairs of a positive and a negative example in which the positive is in the higher bucket.
func pairsAUC(scores []float32, positive []bool) float64 {
	var right, pairs float64
	for i, p := range scores {
		for j, n := range scores {
			if !positive[i] || positive[j] {
				continue
			}
			pairs++
			switch a, b := int(p*4095), int(n*4095); {
			case a > b:
				right++
			case a == b:
				right += 0.5
			}
		}
	}
	if pairs == 0 {
		return 0.5
	}
	return right / pairs
}

func TestHistogramIsPairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 60).Draw(t, "n")
		h, scores, positive := NewHistogram(), make([]float32, n), make([]bool, n)
		for i := range n {
			scores[i] = rapid.OneOf(rapid.Float32Range(0, 1), rapid.SampledFrom([]float32{0, 0.5, 1})).Draw(t, "score")
			positive[i] = rapid.Bool().Draw(t, "positive")
			h.Add(scores[i], positive[i])
		}
		if got, want := h.AUC(), pairsAUC(scores, positive); math.Abs(got-want) > 1e-12 {
			t.Fatalf("AUC is %v, want %v", got, want)
		}
	})
}

func TestHistogramVectors(t *testing.T) {
	tests := []struct {
		pos, neg []float32
		want     float64
	}{
		{[]float32{.35, .8}, []float32{.1, .4}, 0.75},
		{[]float32{.5, .5}, []float32{.5}, 0.5},
		{[]float32{.9}, nil, 0.5},
		{nil, []float32{.9}, 0.5},
		{nil, nil, 0.5},
		{[]float32{1}, []float32{0}, 1},
		{[]float32{0}, []float32{1}, 0},
		{[]float32{float32(math.NaN())}, []float32{0.3}, math.NaN()},
	}
	for _, test := range tests {
		h := NewHistogram()
		for _, p := range test.pos {
			h.Add(p, true)
		}
		for _, p := range test.neg {
			h.Add(p, false)
		}
		if got := h.AUC(); got != test.want && !(math.IsNaN(got) && math.IsNaN(test.want)) {
			t.Errorf("AUC of %v above %v is %v, want %v", test.pos, test.neg, got, test.want)
		}
	}
}

// TestMetricsRun: they count over batches until they are reset, and their counts can be read.
func TestMetricsRun(t *testing.T) {
	g := NewGraph(1)
	p, y := g.Input("p", 2), g.IDs("y", 1)
	auc, acc := AUC(p, y), Accuracy(p, y)
	e := NewExecutor(g)
	step := func(p1 float32, y int64) (float32, float32) {
		out, err := e.Eval(t.Context(), batchOf{"p": floats([]int{1, 2}, 1-p1, p1), "y": int64sOf([]int{1, 1}, y)}, auc, acc)
		law.Check(t, err)
		return out[0].Float32s()[0], out[1].Float32s()[0]
	}
	for i, s := range []struct {
		p        float32
		y        int64
		auc, acc float32
	}{{.1, 0, .5, 1}, {.4, 0, .5, 1}, {.35, 1, .5, 2. / 3}, {.8, 1, .75, .75}} {
		if a, c := step(s.p, s.y); a != s.auc || c != s.acc {
			t.Errorf("after %d examples AUC and accuracy are %v and %v, want %v and %v", i+1, a, c, s.auc, s.acc)
		}
	}
	pos, neg, err := e.Histogram(auc)
	if err != nil || len(pos) != 1<<16 || pos[histogram.Odds(.35)] != 1 || pos[histogram.Odds(.8)] != 1 ||
		neg[histogram.Odds(.1)] != 1 || neg[histogram.Odds(.4)] != 1 {
		t.Errorf("histogram: %v", err)
	}
	if hit, total, err := e.Hits(acc); hit != 3 || total != 4 || err != nil {
		t.Errorf("hits %d of %d, %v", hit, total, err)
	}
	e.ResetMetrics()
	if a, c := step(.8, 0); a != .5 || c != 0 {
		t.Errorf("after a reset AUC and accuracy are %v and %v", a, c)
	}
	if slices.Max(pos) != 0 {
		t.Error("the histogram was not reset")
	}
}

// TestBinaryAccuracy counts right answers on both sides of 0.5, of one probability an example and of two.
func TestBinaryAccuracy(t *testing.T) {
	scores, labels := []float32{0.5, 0.9, 0.4, 0.6, 0.1}, []float32{1, 1, 1, 0, 0} // right, right, wrong, wrong, right
	g := NewGraph(1)
	one, two, y := g.Input("one", 1), g.Input("two", 2), g.Input("y", 1)
	nodes := []*Node{BinaryAccuracy(one, y), BinaryAccuracy(two, y)}
	e := NewExecutor(g)
	for i, p := range scores {
		_, err := e.Eval(t.Context(), batchOf{"one": floats([]int{1, 1}, p), "two": floats([]int{1, 2}, 1-p, p), "y": floats([]int{1, 1}, labels[i])}, nodes...)
		law.Check(t, err)
	}
	for _, n := range nodes {
		if hit, total, err := e.Hits(n); hit != 3 || total != 5 || err != nil {
			t.Errorf("%v: %d of %d are right, %v; want 3 of 5", n, hit, total, err)
		}
	}
	if err := Accuracy(one, y).Err(); err == nil || !strings.Contains(err.Error(), "BinaryAccuracy") {
		t.Errorf("Accuracy of one probability: %v", err)
	}
}

func TestMetricMistakes(t *testing.T) {
	g := NewGraph(1)
	p, y := g.Input("p", 1), g.Input("y", 1)
	auc := AUC(p, y)
	e := NewExecutor(g)
	_, err := e.Eval(t.Context(), batchOf{"p": floats([]int{2, 1}, .5, 3), "y": floats([]int{2, 1}, 0, 1)}, auc)
	if !strings.Contains(unplaced(err), `auc "auc_0": score 3 is not a probability`) {
		t.Errorf("got %v", err)
	}
	if _, err := e.Eval(t.Context(), batchOf{"p": floats([]int{1, 1}, .5), "y": floats([]int{1, 1}, 0)}, auc); err != nil {
		t.Errorf("a good batch after it: %v", err)
	}
	for _, n := range []*Node{nil, p, AUC(NewGraph(2).Input("p", 1), nil)} {
		if _, _, err := e.Histogram(n); err == nil {
			t.Errorf("Histogram of %v has no error", n)
		}
		if _, _, err := e.Hits(n); err == nil {
			t.Errorf("Hits of %v has no error", n)
		}
		if _, _, _, err := e.Errors(n); err == nil {
			t.Errorf("Errors of %v has no error", n)
		}
	}
}

// TestErrors: mean errors run over batches, their sums can be read for a global metric, and labels may be numbers or classes.
func TestErrors(t *testing.T) {
	g := NewGraph(1)
	p, y, class := g.Input("p", 2), g.Input("y", 2), g.IDs("class", 2)
	nodes := []*Node{MAE(p, y), MSE(p, y), RMSE(p, y), MAE(p, class)}
	e := NewExecutor(g)
	step := func(rows int, p, y []float32, class []int64, want ...float32) {
		t.Helper()
		out, err := e.Eval(t.Context(), batchOf{"p": floats([]int{rows, 2}, p...), "y": floats([]int{rows, 2}, y...),
			"class": int64sOf([]int{rows, 2}, class...)}, nodes...)
		law.Check(t, err)
		for i, n := range out {
			if err := near(n.Float32s(), want[i:i+1], 1e-6, 0); err != nil {
				t.Errorf("%v: %v", nodes[i], err)
			}
		}
	}
	step(1, []float32{1, 2}, []float32{1.5, 1}, []int64{1, 4}, 0.75, 0.625, float32(math.Sqrt(0.625)), 1)
	step(1, []float32{0, 0}, []float32{-3, 0}, []int64{0, 4}, 4.5/4, 10.25/4, float32(math.Sqrt(10.25/4)), 1.5)
	if abs, sqr, n, err := e.Errors(nodes[2]); abs != 4.5 || sqr != 10.25 || n != 4 || err != nil {
		t.Errorf("sums %v and %v of %d, %v", abs, sqr, n, err)
	}
	e.ResetMetrics()
	step(1, []float32{1, 1}, []float32{1, 1}, []int64{1, 0}, 0, 0, 0, 0.5)
}

// TestBucketErrorRuns: it is that of all scores since the last reset.
func TestBucketErrorRuns(t *testing.T) {
	g := NewGraph(1)
	node := BucketError(g.Input("p", 1), g.IDs("y", 1))
	e := NewExecutor(g)
	step := func(examples, positives int) float32 {
		p, y := make([]float32, examples), make([]int64, examples)
		for i := range p {
			p[i], y[i] = 0.5, int64(min(max(positives-i, 0), 1))
		}
		out, err := e.Eval(t.Context(), batchOf{"p": floats([]int{examples, 1}, p...), "y": int64sOf([]int{examples, 1}, y...)}, node)
		law.Check(t, err)
		return out[0].Float32s()[0]
	}
	q := 2047.0 / 4096
	got := []float32{step(400, 300), step(400, 200)} // 400 examples are too few to know
	e.ResetMetrics()
	got = append(got, step(1000, 100))
	if err := near(got, []float32{0, float32(math.Abs(0.625/q - 1)), float32(math.Abs(0.1/q - 1))}, 1e-6, 0); err != nil {
		t.Error(err)
	}
	h := NewHistogram()
	h.Add(float32(math.NaN()), true)
	if v := h.BucketError(); !math.IsNaN(v) {
		t.Errorf("of a NaN: %v", v)
	}
}

// TestPlace ranks as top-k does.
func TestPlace(t *testing.T) {
	nan := float32(math.NaN())
	tests := []struct {
		scores []float32
		label  int
		want   int
	}{
		{[]float32{1, 2, 3}, 2, 0}, {[]float32{1, 2, 3}, 0, 2}, {[]float32{5, 5, 5}, 0, 0}, {[]float32{5, 5, 5}, 2, 2},
		{[]float32{nan, 1}, 1, 0}, {[]float32{nan, 1}, 0, math.MaxInt},
	}
	for _, test := range tests {
		if got := place(test.scores, test.label); got != test.want {
			t.Errorf("place of %d in %v is %d, want %d", test.label, test.scores, got, test.want)
		}
	}
}

// TestBatchAUC: it is the AUC of one batch, whatever came before, also in a graph that was saved.
func TestBatchAUC(t *testing.T) {
	g := NewGraph(1)
	p, y := g.Input("p", 1), g.Input("y", 1)
	all, one := AUC(p, y), BatchAUC(p, y)
	m := reload(t, one, nil)
	e, saved := NewExecutor(g), NewExecutor(m.Graph)
	for _, s := range []struct {
		scores   []float32
		all, one float32
	}{
		{[]float32{0.1, 0.9}, 1, 1},
		{[]float32{0.9, 0.1}, 0.5, 0},
		{[]float32{0.2, 0.8}, 5.0 / 9, 1},
	} {
		feed := batchOf{"p": floats([]int{2, 1}, s.scores...), "y": floats([]int{2, 1}, 0, 1)}
		out, err := e.Eval(t.Context(), feed, all, one)
		law.Check(t, err)
		if err := near([]float32{out[0].Float32s()[0], out[1].Float32s()[0]}, []float32{s.all, s.one}, 0, 1e-6); err != nil {
			t.Error(err)
		}
		again, err := saved.Eval(t.Context(), feed, m.Outputs...)
		if err != nil || again[0].Float32s()[0] != s.one {
			t.Errorf("saved: %v, error %v, want %v", again, err, s.one)
		}
	}
}

// TestBatchAccuracy: it is the accuracy of one batch, whatever came before, also in a graph that was saved; k of the best count there too.
func TestBatchAccuracy(t *testing.T) {
	g := NewGraph(1)
	p, y := g.Input("p", 3), g.IDs("y", 1)
	all, one, top := Accuracy(p, y), BatchAccuracy(p, y), BatchTopK(p, y, 2)
	m := reload(t, top, nil)
	e, saved := NewExecutor(g), NewExecutor(m.Graph)
	for _, s := range []struct {
		labels        []int64
		all, one, top float32
	}{
		{[]int64{2, 0}, 1, 1, 1},
		{[]int64{1, 2}, 0.5, 0, 0.5},
		{[]int64{2, 1}, 0.5, 0.5, 1},
	} {
		feed := batchOf{"p": floats([]int{2, 3}, .1, .2, .7, .6, .3, .1), "y": int64sOf([]int{2, 1}, s.labels...)}
		out, err := e.Eval(t.Context(), feed, all, one, top)
		law.Check(t, err)
		for i, want := range []float32{s.all, s.one, s.top} {
			if got := out[i].Float32s()[0]; got != want {
				t.Errorf("labels %v: fetch %d is %v, want %v", s.labels, i, got, want)
			}
		}
		if hit, total, err := e.Hits(one); hit != int64(2*s.one) || total != 2 || err != nil {
			t.Errorf("labels %v: %d of %d, %v", s.labels, hit, total, err)
		}
		again, err := saved.Eval(t.Context(), feed, m.Outputs...)
		if err != nil || again[0].Float32s()[0] != s.top {
			t.Errorf("saved: %v, error %v, want %v", again, err, s.top)
		}
	}
}

// TestSlidingAUC: it is the AUC of as many batches as it says, and forgets at a reset; a graph that was saved does the same.
func TestSlidingAUC(t *testing.T) {
	g := NewGraph(1)
	node := SlidingAUC(g.Input("p", 1), g.Input("y", 1), 3)
	m := reload(t, node, nil)
	e, saved := NewExecutor(g), NewExecutor(m.Graph)
	var scores []float32
	var labels []bool
	for step := range 9 {
		if step == 6 {
			e.ResetMetrics()
			saved.ResetMetrics()
			scores, labels = nil, nil
		}
		p, y := uniform(uint32(step), 4, 0, 1), make([]float32, 4)
		for i := range y {
			y[i] = float32((i + step) % 2)
			labels = append(labels, y[i] > 0)
		}
		scores = append(scores, p...)
		feed := batchOf{"p": floats([]int{4, 1}, p...), "y": floats([]int{4, 1}, y...)}
		from := max(0, len(scores)-12)
		want := []float32{float32(pairsAUC(scores[from:], labels[from:]))}
		for _, run := range []struct {
			e    *Executor
			node *Node
		}{{e, node}, {saved, m.Outputs[0]}} {
			out, err := run.e.Eval(t.Context(), feed, run.node)
			law.Check(t, err)
			if err := near(out[0].Float32s(), want, 0, 1e-6); err != nil {
				t.Errorf("step %d: %v", step, err)
			}
		}
	}
	_, err := e.Eval(t.Context(), batchOf{"p": floats([]int{1, 1}, 3), "y": floats([]int{1, 1}, 0)}, node)
	if err == nil || !strings.Contains(err.Error(), "not a probability") {
		t.Errorf("a score of 3: %v", err)
	}
}
