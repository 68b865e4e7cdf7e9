package nn

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/internal/law"
)

// TestCount: a batch that is counted adds to metrics what an evaluation of it adds, and refuses the same; other fetches have their values,
// also one that is computed from a metric, and an evaluation or training behind it has the metrics'.
func TestCount(t *testing.T) {
	g := NewGraph(1)
	p, y, user := g.Input("p", 1), g.IDs("y", 1), g.IDs("user", 1)
	metrics := []*Node{GroupAUC(p, y, user), AUC(p, y), GroupMRR(p, y, user)}
	gini := Scale(metrics[1], 2, -1)
	counts, evaluates, r := NewExecutor(g), NewExecutor(g), rand.New(rand.NewPCG(1, 1))
	fed := func(p float32) batchOf {
		shape := []int{2, 1}
		return batchOf{"p": floats(shape, p, r.Float32()), "y": int64sOf(shape, 0, 1), "user": int64sOf(shape, int64(r.IntN(3)), int64(r.IntN(3)))}
	}
	var want []*tensor.Dense
	for range 9 {
		batch := fed(r.Float32())
		out, err := counts.Count(t.Context(), batch, metrics, gini)
		law.Check(t, err)
		want, err = evaluates.Eval(t.Context(), batch, append(metrics, gini)...)
		law.Check(t, err)
		if len(out) != 1 || !slices.Equal(out[0].Float32s(), want[3].Float32s()) {
			t.Fatalf("it returns %v, want %v", out, want[3])
		}
	}
	for i, m := range metrics {
		if got := joinedOf(t, m, counts); got != joinedOf(t, m, evaluates) || math.Abs(got-float64(want[i].Float32s()[0])) > 1e-6 {
			t.Errorf("%v is %v of what was counted, want %v", m, got, want[i])
		}
	}
	if _, err := NewExecutor(g).Count(t.Context(), fed(2), metrics); err == nil {
		t.Error("a score of 2 is counted")
	}
	last := fed(0.5)
	want, err := evaluates.Eval(t.Context(), last, metrics...)
	law.Check(t, err)
	out, err := counts.Eval(t.Context(), last, metrics...)
	law.Check(t, err)
	for i := range metrics {
		if got := out[i].Float32s()[0]; got != want[i].Float32s()[0] {
			t.Errorf("%v is %v behind what was counted, want %v", metrics[i], got, want[i])
		}
	}
}

// TestGroupAUC: it is the AUC of each group, weighted by rows, over batches and executors that divide groups; groups of one class are
// left out. By hand: group 1 has rows .1−, .2+, .3− (AUC ½), group 2 has .9+, .8−, .8+ (AUC ¾), group 3 one class.
func TestGroupAUC(t *testing.T) {
	g := NewGraph(1)
	m := GroupAUC(g.Input("p", 1), g.IDs("y", 1), g.IDs("user", 1))
	law.Check(t, g.Err())
	fed := func(p []float32, y, user []int64) batchOf {
		shape := []int{len(p), 1}
		return batchOf{"p": floats(shape, p...), "y": int64sOf(shape, y...), "user": int64sOf(shape, user...)}
	}
	a := fed([]float32{.1, .9, .7, .8}, []int64{0, 1, 1, 0}, []int64{1, 2, 3, 2})
	b := fed([]float32{.2, .3, .8}, []int64{1, 0, 1}, []int64{1, 1, 2})
	one, halves := NewExecutor(g), []*Executor{NewExecutor(g), NewExecutor(g)}
	first, err := one.Eval(t.Context(), a, m)
	law.Check(t, err)
	if got := first[0].Float32s()[0]; got != 1 {
		t.Errorf("of the first batch %v, want 1: group 2 alone has both classes", got)
	}
	out, err := one.Eval(t.Context(), b, m)
	law.Check(t, err)
	for i, batch := range []batchOf{a, b} {
		_, err := halves[i].Eval(t.Context(), batch, m)
		law.Check(t, err)
	}
	want := (3*0.5 + 3*0.75) / 6
	if got := float64(out[0].Float32s()[0]); math.Abs(got-want) > 1e-7 {
		t.Errorf("GroupAUC is %v, want %v", got, want)
	}
	if got := joinedOf(t, m, halves...); math.Abs(got-want) > 1e-15 {
		t.Errorf("GroupAUC of two executors is %v, want %v", got, want)
	}
	if got := joinedOf(t, m, NewExecutor(g)); !math.IsNaN(got) {
		t.Errorf("GroupAUC of nothing is %v", got)
	}
	one.ResetMetrics()
	if out, err = one.Eval(t.Context(), a, m); err != nil || out[0].Float32s()[0] != 1 {
		t.Errorf("behind a reset: %v, %v", out, err)
	}
	if _, err := one.Eval(t.Context(), fed([]float32{2}, []int64{1}, []int64{1}), m); err == nil {
		t.Error("a score of 2 is taken")
	}
	for _, bad := range []batchOf{fed([]float32{float32(math.NaN()), .5}, []int64{0, 1}, []int64{1, 1})} {
		if out, err := one.Eval(t.Context(), bad, m); err != nil || !math.IsNaN(float64(out[0].Float32s()[0])) {
			t.Errorf("of a score that is NaN: %v, %v", out, err)
		}
		if got := joinedOf(t, m, one); !math.IsNaN(got) {
			t.Errorf("of a score that is NaN: %v of its sums", got)
		}
	}
}

// TestGroupAUCOfOneGroup: of one group it is AUC, which buckets bring within 1e-4.
func TestGroupAUCOfOneGroup(t *testing.T) {
	g := NewGraph(1)
	p, y := g.Input("p", 1), g.Input("y", 1)
	metrics := []*Node{AUC(p, y), GroupAUC(p, y, g.IDs("user", 1))}
	e, r := NewExecutor(g), rand.New(rand.NewPCG(1, 1))
	for range 5 {
		feed := batchOf{"p": floats([]int{40, 1}, uniform(r.Uint32(), 40, 0, 1)...), "y": floats([]int{40, 1}, uniform(r.Uint32(), 40, 0, 1)...),
			"user": int64sOf([]int{40, 1}, make([]int64, 40)...)}
		for i := range 20 {
			feed["y"].Float32s()[i] = 0
		}
		out, err := e.Eval(t.Context(), feed, metrics...)
		law.Check(t, err)
		if a, b := out[0].Float32s()[0], out[1].Float32s()[0]; math.Abs(float64(a-b)) > 1e-4 || a == 0.5 {
			t.Errorf("AUC %v, GroupAUC %v", a, b)
		}
	}
}
