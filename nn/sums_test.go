package nn

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// TestSumsAddUp: the metric of sums that were added up over two executors is that of one which has seen all examples.
func TestSumsAddUp(t *testing.T) {
	n := newToy(1)
	label := n.g.Node("label")
	metrics := []*Node{n.auc, BucketError(n.pred, label), Precision(n.pred, label), Recall(n.pred, label), BinaryAccuracy(n.pred, label),
		MAE(n.pred, label), MSE(n.pred, label), RMSE(n.pred, label)}
	law.Check(t, n.g.Err())
	sums := func(batches []batchOf) (all [][]float64) {
		exe := NewExecutor(n.g)
		for _, b := range batches {
			if _, err := exe.Eval(t.Context(), b, metrics...); err != nil {
				t.Fatal(err)
			}
		}
		for _, m := range metrics {
			s, err := exe.Sums(m)
			law.Check(t, err)
			all = append(all, s)
		}
		return all
	}
	batches := n.batches(30, 7, 50, 1)
	whole, first, rest := sums(batches), sums(batches[:1]), sums(batches[1:])
	for i, m := range metrics {
		added := slices.Clone(first[i])
		for j, s := range rest[i] {
			added[j] += s
		}
		got, err := m.OfSums(added)
		want, _ := m.OfSums(whole[i])
		if err != nil || math.Abs(got-want) > 1e-12 || want == 0 && m.op.kind() != "bucket_error" {
			t.Errorf("%s is %v, want %v; error %v", m.Label(), got, want, err)
		}
		if nothing, err := m.OfSums(make([]float64, len(added))); err != nil || !math.IsNaN(nothing) {
			t.Errorf("%s of nothing is %v, error %v", m.Label(), nothing, err)
		}
		if _, err := m.OfSums(added[1:]); err == nil || !strings.Contains(err.Error(), "sums") {
			t.Errorf("%s of too few sums: error %v", m.Label(), err)
		}
		if !m.Counts() || m.Falls() != slices.Contains([]string{"mae", "mse", "rmse", "bucket_error"}, m.Label()) {
			t.Errorf("%s: counts %t, falls %t", m.Label(), m.Counts(), m.Falls())
		}
		if n := testing.AllocsPerRun(10, func() { m.Counts() }); n > 0 { // as evaluations ask for each batch
			t.Errorf("%s: whether it counts is asked with %v allocations", m.Label(), n)
		}
	}
	one := make([]float64, metrics[0].SumsLen())
	one[3] = 5 // positive examples, and no others
	if area, err := metrics[0].OfSums(one); err != nil || metrics[0].op.kind() != "auc" || !math.IsNaN(area) {
		t.Errorf("the AUC of one class is %v, error %v", area, err)
	}
	for _, m := range []*Node{n.loss, SlidingAUC(n.pred, label, 2), BatchAUC(n.pred, label)} {
		if _, err := NewExecutor(n.g).Sums(m); m.Counts() || err == nil || !strings.Contains(err.Error(), "does not count over batches") {
			t.Errorf("%s: counts %t, error %v", m.Label(), m.Counts(), err)
		}
	}
	if !n.loss.Falls() || BatchAUC(n.pred, label).Falls() || n.auc.Named("area").Label() != "area" {
		t.Error("a loss falls, an AUC does not; a name is a label")
	}
}

// TestStepIsCalledAfterEach: with threads too, one at a time; its error ends the loop.
func TestStepIsCalledAfterEach(t *testing.T) {
	enough := errors.New("enough")
	for _, threads := range []int{0, 1, 4} {
		n := newToy(1)
		n.loss.Bind(still{})
		var one sync.Mutex
		steps := 0
		o := TrainOptions{Step: func(_ context.Context, so TrainResult) error {
			if !one.TryLock() {
				t.Error("two steps are told at once")
				return nil
			}
			defer one.Unlock()
			if steps++; so.Steps != steps || so.Samples != 5*steps || so.Loss == 0 {
				t.Errorf("step %d is told as %+v", steps, so)
			}
			if steps == 30 {
				return enough
			}
			return nil
		}}
		batches := func(int) stream { return recycled(n.batches(slices.Repeat([]int{5}, 20)...)) }
		train := func() (err error) {
			if threads == 0 {
				_, err = NewExecutor(n.g).TrainFrom(t.Context(), batches(0), o)
				return err
			}
			_, err = TrainThreads(t.Context(), n.g, threads, batches, o)
			return err
		}
		switch err := train(); {
		case threads < 2 && (err != nil || steps != 20):
			t.Errorf("%d threads: %d steps, error %v", threads, steps, err)
		case threads > 1 && (!errors.Is(err, enough) || steps < 30):
			t.Errorf("%d threads: %d steps, error %v", threads, steps, err)
		}
	}
}

// TestHigherIsBetter: a metric of the program's own falls unless it is declared to rise, and neither a loss nor an error
// can be declared so.
func TestHigherIsBetter(t *testing.T) {
	g := NewGraph(1)
	pred, label := Linear(g.Input("x", 2), 1, LinearOptions{}), g.Input("y", 1)
	near := func() *Node { return Mean(Scale(Abs(Subtract(pred, label)), -1, 1)) }
	if plain, own := near(), near().Named("near").HigherIsBetter(); !plain.Falls() || own.Falls() || own.Minimizable() == nil || plain.Minimizable() != nil {
		t.Errorf("undeclared: falls %t, %v; declared: falls %t, %v", plain.Falls(), plain.Minimizable(), own.Falls(), own.Minimizable())
	}
	if AUC(Sigmoid(pred), label).HigherIsBetter().Falls() || g.Err() != nil {
		t.Errorf("an AUC falls, or is refused: %v", g.Err())
	}
	MAE(pred, label).HigherIsBetter()
	if err := unplaced(g.Err()); !strings.Contains(err, "can't be declared HigherIsBetter") {
		t.Errorf("an error that rises: %q", err)
	}
}
