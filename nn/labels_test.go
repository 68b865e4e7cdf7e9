package nn

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/internal/law"
)

// labelLosses are the losses of labels of two classes, on probabilities between 0 and 1.
var labelLosses = map[string]func(pred, label *Node) *Node{
	"log_loss": LogLoss, "binary_cross_entropy": BinaryCrossEntropy,
	"binary_cross_entropy_with_logits": BinaryCrossEntropyWithLogits,
}

// TestLabelsOfMetrics: metrics of two classes refuse the labels that losses refuse, and a label that is NaN makes them NaN, in a fetch and of
// their sums. What has no positive label is NaN in both, but for AUC, of which a fetch is 0.5.
//
// Promise: [G2] metrics of two classes refuse the labels that losses refuse, and a label that is NaN makes them NaN
func TestLabelsOfMetrics(t *testing.T) {
	nan := float32(math.NaN())
	g := NewGraph(1)
	p, y, w := g.Input("p", 1), g.Input("y", 1), g.Input("w", 1)
	metrics := []*Node{AUC(p, y), AUCOf(p, y, 99), BatchAUC(p, y), SlidingAUC(p, y, 2), BucketError(p, y), BinaryAccuracy(p, y), Precision(p, y),
		Recall(p, y), F1(p, y), PRAUC(p, y), GroupAUC(p, y, Cast(w, Int64))}
	for _, m := range []*Node{AUC(p, y), BinaryAccuracy(p, y), Precision(p, y), Recall(p, y), F1(p, y), PRAUC(p, y)} {
		metrics = append(metrics, Weighted(m, w))
	}
	for _, m := range metrics {
		for _, bad := range []float32{-1, 2, 100, nan, 0} {
			e := NewExecutor(g)
			out, err := e.Eval(t.Context(), batchOf{"p": floats([]int{3, 1}, 0.9, 0.2, 0.3), "y": floats([]int{3, 1}, 0, bad, 0),
				"w": floats([]int{3, 1}, 1, 2, 1)}, m)
			if bad != 0 && bad == bad {
				if err == nil || !strings.Contains(err.Error(), "label") {
					t.Errorf("%v with label %v: %v", m, bad, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%v with label %v: %v", m, bad, err)
				continue
			}
			got := []float64{float64(out[0].Float32s()[0])}
			if m.Counts() {
				sums, err := e.Sums(m)
				law.Check(t, err)
				of, err := m.OfSums(sums)
				law.Check(t, err)
				got = append(got, of)
			}
			kind := strings.TrimPrefix(called(m.op), "weighted_")
			unknown := bad != bad || kind == "recall" || kind == "pr_auc"
			if unknown && slices.ContainsFunc(got, func(v float64) bool { return v == v }) {
				t.Errorf("%v with label %v is %v", m, bad, got)
			}
		}
	}
}

// TestLabelsAreZeroOrOne: losses of two classes take int64 labels of 0 and 1, float32 labels between, and name the row of any other, before
// anything is trained. An evaluation does too, and an embedding's row is not born.
func TestLabelsAreZeroOrOne(t *testing.T) {
	ints, between := []int64{0, 1, 1, 0}, []float32{0, 0.25, 1, 0.9}
	for kind, lossOf := range labelLosses {
		for _, c := range []struct {
			label *tensor.Dense
			want  string
		}{
			{int64sOf([]int{4, 1}, ints...), ""},
			{floats([]int{4, 1}, between...), ""},
			{int64sOf([]int{4, 1}, 0, 1, 1, 35), "row 3, column 0: 35 is no label of " + kind},
			{int64sOf([]int{4, 1}, 0, -7, 1, 0), "row 1, column 0: -7 is no label of " + kind},
			{int64sOf([]int{4, 1}, 0, 2, 1, 0), "row 1, column 0: 2 is no label of " + kind},
			{floats([]int{4, 1}, 0, 1, 35, 0), "row 2, column 0: 35 is no label of " + kind},
			{floats([]int{4, 1}, -0.5, 1, 35, 0), "row 0, column 0: -0.5 is no label of " + kind},
			{floats([]int{4, 1}, 0, 1, 1, 1.01), "row 3, column 0: 1.01 is no label of " + kind},
		} {
			g := NewGraph(1)
			pred, label := Sigmoid(Embedding(g.IDs("id", 1), EmbeddingOptions{Dim: 1})), g.Input("label", 1)
			if c.label.Dtype() == tensor.Int64 {
				g = NewGraph(1)
				pred, label = Sigmoid(Embedding(g.IDs("id", 1), EmbeddingOptions{Dim: 1})), g.IDs("label", 1)
			}
			loss := Mean(lossOf(pred, label))
			k := minimise(t, loss, 0.1)
			e, feed := NewExecutor(g), batchOf{"id": int64sOf([]int{4, 1}, 1, 2, 3, 4), "label": c.label}
			_, evaluated := e.Eval(t.Context(), feed, loss)
			_, trained := e.Train(t.Context(), feed, loss)
			for way, err := range map[string]error{"Eval": evaluated, "Train": trained} {
				if c.want == "" && err != nil || c.want != "" && !strings.HasPrefix(unplaced(err), `nn: feed "label", `+c.want) {
					t.Errorf("%s of %s with label %v: %v does not say %q", way, kind, c.label, err, c.want)
				}
			}
			if born := len(k.rows["embedding_0.w_0"]); born != 4 && c.want == "" || born != 0 && c.want != "" {
				t.Errorf("%s with label %v: %d rows were born", kind, c.label, born)
			}
			feed["label"] = int64sOf([]int{4, 1}, ints...)
			if c.label.Dtype() != tensor.Int64 {
				feed["label"] = floats([]int{4, 1}, between...)
			}
			must(t, e, feed, loss) // a bad batch ends nothing
		}
	}
}

// TestComputedLabels: a label that was cast is known by its feed, and one that is computed is refused when it is.
func TestComputedLabels(t *testing.T) {
	net := func(label func(g *Graph) *Node) (*Executor, *Node, *keeper) {
		g := NewGraph(1)
		loss := Mean(LogLoss(Linear(g.Input("x", 2), 1, LinearOptions{Act: Sigmoid}), label(g)))
		k := minimise(t, loss, 0.1)
		return NewExecutor(g), loss, k
	}
	x := floats([]int{2, 2}, 1, 2, 3, 4)
	e, loss, _ := net(func(g *Graph) *Node { return Cast(g.IDs("label", 1), Float32) })
	_, err := e.Train(t.Context(), batchOf{"x": x, "label": int64sOf([]int{2, 1}, 1, 35)}, loss)
	if !strings.Contains(unplaced(err), `feed "label", row 1, column 0: 35 is no label of log_loss "log_loss_0"`) {
		t.Errorf("a cast feed: %v", err)
	}
	must(t, e, batchOf{"x": x, "label": int64sOf([]int{2, 1}, 1, 0)}, loss)

	e, loss, k := net(func(g *Graph) *Node { return Scale(g.Input("stars", 1), 0.2, 0) })
	good, bad := batchOf{"x": x, "stars": floats([]int{2, 1}, 1, 5)}, batchOf{"x": x, "stars": floats([]int{2, 1}, 1, 10)}
	must(t, e, good, loss)
	before := slices.Clone(k.dense["fc_0.w_0"])
	want := `nn: log_loss "log_loss_0": "scale_0" [N 1], row 1, column 0: 2 is no label`
	if _, err := e.Eval(t.Context(), bad, loss); !strings.Contains(unplaced(err), want) {
		t.Errorf("an evaluation: %v does not say %q", err, want)
	}
	must(t, e, batchOf{"x": x, "stars": floats([]int{2, 1}, 0, 0)}, loss) // an evaluation ends no session
	if near(before, k.dense["fc_0.w_0"], 0, 0) == nil {
		t.Error("the step after it changed nothing")
	}
	before = slices.Clone(k.dense["fc_0.w_0"])
	if _, err := e.Train(t.Context(), bad, loss); !strings.Contains(unplaced(err), want) {
		t.Errorf("a step: %v does not say %q", err, want)
	}
	if err := near(before, k.dense["fc_0.w_0"], 0, 0); err != nil {
		t.Errorf("the step was trained: %v", err)
	}
	if _, err := e.Train(t.Context(), good, loss); err == nil || !strings.Contains(err.Error(), "Close the executor") {
		t.Errorf("the next step: %v", err)
	}
	law.Check(t, e.Close(t.Context()))
	must(t, e, good, loss)
}

// TestNoProbabilities: what LogLoss and BinaryCrossEntropy are given by a layer without Sigmoid is refused, where it made the loss a NaN
// beside gradients that were numbers. A NaN goes through, and shows in the loss.
func TestNoProbabilities(t *testing.T) {
	for kind, lossOf := range labelLosses {
		g := NewGraph(1)
		loss := Mean(lossOf(g.Input("pred", 1), g.Input("label", 1)))
		eval := func(pred float32) (float32, error) {
			out, err := NewExecutor(g).Eval(t.Context(), batchOf{"pred": floats([]int{1, 1}, pred), "label": floats([]int{1, 1}, 1)}, loss)
			if err != nil {
				return 0, err
			}
			return out[0].Float32s()[0], nil
		}
		for _, p := range []float32{-5, 1.5, float32(math.Inf(1))} {
			_, err := eval(p)
			want := fmt.Sprintf(`nn: feed "pred", row 0, column 0: %v is no probability between 0 and 1 for %s`, p, kind)
			if logits := kind == "binary_cross_entropy_with_logits"; logits != (err == nil) || !logits && !strings.HasPrefix(unplaced(err), want) {
				t.Errorf("%s of %v: %v does not say %q", kind, p, err, want)
			}
		}
		for _, p := range []float32{0, 1} {
			if v, err := eval(p); err != nil || v != v {
				t.Errorf("%s of %v is %v, %v", kind, p, v, err)
			}
		}
		if v, err := eval(float32(math.NaN())); err != nil || v == v {
			t.Errorf("%s of NaN is %v, %v", kind, v, err)
		}
	}
}

// TestCast: types change, numbers stay, and what int64 can't hold is refused, as are classes that there are not.
func TestCast(t *testing.T) {
	g := NewGraph(1)
	ids, x := g.IDs("ids", 2), g.Input("x", 2)
	f, i := Cast(ids, Float32), Cast(x, Int64)
	if Cast(ids, Int64) != ids || Cast(x, Float32) != x || g.Err() != nil {
		t.Errorf("a cast to the same type is another node: %v", g.Err())
	}
	feed := batchOf{"ids": int64sOf([]int{1, 2}, -3, 1<<24+1), "x": floats([]int{1, 2}, -2.9, 1<<40)}
	out, err := NewExecutor(g).Eval(t.Context(), feed, f, i)
	law.Check(t, err)
	if err := near(out[0].Float32s(), []float32{-3, 1 << 24}, 0, 0); err != nil || !slices.Equal(out[1].Int64s(), []int64{-2, 1 << 40}) {
		t.Errorf("%v and %v, %v", out[0], out[1], err)
	}
	for _, v := range []float32{float32(math.NaN()), 1 << 63, float32(math.Inf(-1))} {
		feed["x"] = floats([]int{1, 2}, 0, v)
		want := fmt.Sprintf(`nn: feed "x", row 0, column 1: %v is no number that int64 can hold`, v)
		if _, err := NewExecutor(g).Eval(t.Context(), feed, i); unplaced(err) != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	scores := g.Input("scores", 3)
	for kind, n := range map[string]*Node{
		"cross_entropy": CrossEntropy(scores, Cast(g.Input("class", 1), Int64)), "accuracy": Accuracy(scores, Cast(g.Node("class"), Int64)),
		"softmax_with_cross_entropy": SoftmaxWithCrossEntropy(scores, Cast(g.Node("class"), Int64)),
	} {
		feed := batchOf{"scores": floats([]int{2, 3}, .1, .2, .7, .7, .2, .1), "class": floats([]int{2, 1}, 2, 0)}
		if _, err := NewExecutor(g).Eval(t.Context(), feed, n); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		for _, class := range []float32{3, -1} {
			feed["class"] = floats([]int{2, 1}, 2, class)
			if _, err := NewExecutor(g).Eval(t.Context(), feed, n); err == nil || !strings.Contains(err.Error(), `[N 1], row 1, column 0: `) {
				t.Errorf("%s of class %v: %v", kind, class, err)
			}
		}
	}
}
