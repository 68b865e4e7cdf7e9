package nn

import (
	"math"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// TestGroupRanks: over batches and executors that divide groups, with scores of any size. By hand: group 1 has relevance 0, 2, 1 from the
// highest score down, group 2 has 1, 0, group 3 nothing.
func TestGroupRanks(t *testing.T) {
	g := NewGraph(1)
	s, user := g.Input("s", 1), g.IDs("user", 1)
	nodes := []*Node{GroupNDCG(s, g.Input("r", 1), user, 2), GroupMRR(s, g.IDs("y", 1), user)}
	law.Check(t, g.Err())
	fed := func(s, r []float32, y, user []int64) batchOf {
		shape := []int{len(s), 1}
		return batchOf{"s": floats(shape, s...), "r": floats(shape, r...), "y": int64sOf(shape, y...), "user": int64sOf(shape, user...)}
	}
	a := fed([]float32{30, -1, 5}, []float32{0, 1, 0}, []int64{0, 1, 0}, []int64{1, 1, 3})
	b := fed([]float32{7, 2, 1}, []float32{2, 1, 0}, []int64{1, 1, 0}, []int64{1, 2, 2})
	one, halves := NewExecutor(g), []*Executor{NewExecutor(g), NewExecutor(g)}
	for i, batch := range []batchOf{a, b} {
		for _, e := range []*Executor{one, halves[i]} {
			_, err := e.Eval(t.Context(), batch, nodes...)
			law.Check(t, err)
		}
	}
	second := 1 / math.Log2(3)
	want := []float64{(2*second/(2+second) + 1) / 2, (0.5 + 1) / 2}
	for i, n := range nodes {
		if alone, both := joinedOf(t, n, one), joinedOf(t, n, halves...); math.Abs(alone-want[i]) > 1e-12 || alone != both || n.Falls() {
			t.Errorf("%s is %v, of two executors %v, want %v", n.Label(), alone, both, want[i])
		}
	}
	if nodes[0].Label() != "group_ndcg" || nodes[1].Label() != "group_mrr" {
		t.Errorf("they are called %s and %s", nodes[0].Label(), nodes[1].Label())
	}
	a["r"].Float32s()[0] = -1
	if _, err := one.Eval(t.Context(), a, nodes[0]); err == nil {
		t.Error("a relevance of -1 is taken")
	}
	one.ResetMetrics()
	a["r"].Float32s()[0] = float32(math.NaN())
	if out, err := one.Eval(t.Context(), a, nodes[0]); err != nil || !math.IsNaN(float64(out[0].Float32s()[0])) {
		t.Errorf("of a relevance that is NaN: %v, %v", out, err)
	}
}
