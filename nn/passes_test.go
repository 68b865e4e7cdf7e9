package nn

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestSwappedArguments: a loss or metric whose label is computed from parameters is refused with both arguments named, unless it is
// detached; so is a loss that trains nothing, though parameters are behind it.
func TestSwappedArguments(t *testing.T) {
	binary := map[string]func(a, b *Node) *Node{"log_loss": LogLoss, "binary_cross_entropy": BinaryCrossEntropy,
		"binary_cross_entropy_with_logits": BinaryCrossEntropyWithLogits, "auc": AUC, "batch_auc": BatchAUC, "bucket_error": BucketError,
		"sliding_auc": func(a, b *Node) *Node { return SlidingAUC(a, b, 2) }, "precision": Precision, "recall": Recall,
		"binary_accuracy": BinaryAccuracy}
	for kind, f := range binary {
		model := func() (pred, label *Node) {
			g := NewGraph(1)
			return Linear(g.Input("x", 2), 1, LinearOptions{Act: Sigmoid, Name: "late"}), g.Input("y", 1)
		}
		pred, label := model()
		f(label, pred)
		err := unplaced(pred.Err())
		for _, want := range []string{"nn: " + kind, `a prediction, here "y" [N 1], and a label, here "sigmoid_0" [N 1]`, "exchange them"} {
			if !strings.Contains(err, want) {
				t.Errorf("%s(label, prediction): %q does not say %q", kind, err, want)
			}
		}
		pred, label = model()
		f(pred, Linear(label, 1, LinearOptions{Act: Sigmoid}))
		if err := unplaced(pred.Err()); !strings.Contains(err, "pass a label that the model computes, such as a teacher's, through Detach") {
			t.Errorf("%s(student, teacher): %q", kind, err)
		}
		pred, label = model()
		f(pred, label)
		f(pred, Detach(Linear(label, 1, LinearOptions{Act: Sigmoid})))
		f(label, label)
		if err := pred.Err(); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// TestNothingToTrain: parameters behind a loss to which no gradient comes make it no loss.
//
// Promise: [G2] a loss to which no parameter gives a gradient is refused, as is a label that is computed from
// parameters
// Also: TestSwappedArguments
func TestNothingToTrain(t *testing.T) {
	for name, loss := range map[string]func(pred, y *Node) *Node{
		"detached":        func(pred, y *Node) *Node { return Mean(SquareError(Detach(pred), y)) },
		"a metric":        AUC,
		"a detached part": func(pred, y *Node) *Node { return Mean(LogLoss(y, Detach(pred))) },
		"whole numbers":   func(pred, y *Node) *Node { return Mean(Cast(Cast(pred, Int64), Float32)) },
	} {
		g := NewGraph(1)
		n := loss(Linear(g.Input("x", 2), 1, LinearOptions{Act: Sigmoid}), g.Input("y", 1))
		if err := n.Minimizable(); err == nil || !strings.Contains(err.Error(), "depends on no parameter that can be trained") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestATeacherIsNotTrained: a label that passes through Detach trains the student alone, as if it were fed, and ids that only the
// teacher looks up get no rows.
func TestATeacherIsNotTrained(t *testing.T) {
	g := NewGraph(1)
	teacher := Sigmoid(EmbeddingPool(g.Slot("words"), PoolSum, EmbeddingOptions{Name: "teacher", Dim: 1, Height: 9}))
	student := Linear(g.Input("x", 2), 1, LinearOptions{Act: Sigmoid, Name: "student"})
	k := minimise(t, Mean(LogLoss(student, Detach(teacher))), 0.5)
	e := NewExecutor(g)
	feed := batchOf{"x": floats([]int{2, 2}, 1, 2, 3, 4), "words": int64sOf([]int{3}, 1, 2, 3), "words.offsets": int64sOf([]int{3}, 0, 1, 3)}
	before := slices.Clone(must(t, e, feed, teacher, student)[1].Float32s())
	after := must(t, e, feed, teacher, student)[1].Float32s()
	if slices.Equal(before, after) || len(k.rows["teacher"]) > 0 || len(k.rowG["teacher"]) > 0 {
		t.Errorf("the student says %v, then %v; rows of the teacher: %v", before, after, k.rows)
	}
}

// TestLayersBesideTheLoss are computed as an evaluation does: nothing is dropped, and no average moves.
func TestLayersBesideTheLoss(t *testing.T) {
	g := NewGraph(1)
	x := g.Input("x", 4)
	loss := Mean(Linear(x, 1, LinearOptions{}))
	normal, dropped := BatchNorm(x, NormOptions{Name: "bn"}), Dropout(x, 0.5)
	k := &setting{keeper: newKeeper(t, 0), set: map[string][]float32{}}
	loss.Bind(k)
	feed := batchOf{"x": floats([]int{2, 4}, 1, 2, 3, 4, 5, 6, 7, 8)}
	e := NewExecutor(g)
	for range 2 {
		out := must(t, e, feed, normal, dropped)
		if err := near(out[0].Float32s(), feed["x"].Float32s(), 1e-4, 0); err != nil {
			t.Errorf("normalised: %v", err)
		}
		if err := near(out[1].Float32s(), feed["x"].Float32s(), 0, 0); err != nil {
			t.Errorf("dropped: %v", err)
		}
	}
	if len(k.set) > 0 {
		t.Errorf("averages moved: %v", k.set)
	}
}

// TestPrediction: it is what the one loss compares with labels, whichever argument that is where both pass gradients.
func TestPrediction(t *testing.T) {
	g := NewGraph(1)
	y := g.Input("y", 1)
	a, b := Linear(g.Input("x", 2), 1, LinearOptions{Act: Sigmoid}), Linear(y, 1, LinearOptions{})
	for name, c := range map[string]struct{ loss, want *Node }{
		"LogLoss": {Mean(LogLoss(a, y)), a}, "SquareError": {Mean(SquareError(y, b)), b}, "of two": {Mean(Add(SquareError(a, y), SquareError(b, y))), nil},
		"twice": {Mean(Add(SquareError(a, y), LogLoss(a, y))), a}, "none": {Mean(a), nil}, "a teacher": {Mean(LogLoss(a, Detach(Sigmoid(b)))), a},
	} {
		if got := c.loss.Prediction(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestAGraphHasOneTrainer: a graph that is minimised already is refused, since its first trainer would train nothing.
func TestAGraphHasOneTrainer(t *testing.T) {
	g := NewGraph(1)
	pred := Linear(g.Input("x", 2), 1, LinearOptions{})
	loss, other := Mean(SquareError(pred, g.Input("y", 1))).Named("first"), Mean(Abs(pred))
	if err := errors.Join(loss.Minimizable(), other.Minimizable()); err != nil {
		t.Fatal(err)
	}
	minimise(t, loss, 0.5)
	for _, n := range []*Node{loss, other} {
		if err := n.Minimizable(); err == nil || !strings.Contains(err.Error(), `a trainer has this graph already, for mean "first"`) {
			t.Errorf("%s is minimised too: %v", n.Name(), err)
		}
	}
}
