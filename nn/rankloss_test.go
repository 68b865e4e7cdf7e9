package nn

import (
	"math"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// TestRankLosses: values by hand of groups whose rows lie apart, of one row, and of equal scores and relevances; a batch of one row; groups as
// ids and as any other int64; a relevance that is NaN makes the loss NaN, and one below 0 is refused with its row.
func TestRankLosses(t *testing.T) {
	g := NewGraph(1)
	s, r, y, group := g.Input("s", 1), g.Input("r", 1), g.IDs("y", 1), g.IDs("group", 1)
	nodes := []*Node{RankNet(s, r, group), LambdaRank(s, r, group, 2), RankNet(s, y, group), LambdaRank(s, y, group, 2)}
	law.Check(t, g.Err())
	exe := NewExecutor(g)
	fed := func(s, r []float32, y, of []int64) batchOf {
		shape := []int{len(s), 1}
		return batchOf{"s": floats(shape, s...), "r": floats(shape, r...), "y": int64sOf(shape, y...), "group": int64sOf(shape, of...)}
	}
	pair := func(better, worse float64) float64 { return math.Log(1 + math.Exp(worse-better)) }
	second := 1 / math.Log2(3)
	best := 2 + second // of group -7, at the first two places
	for name, c := range map[string]struct {
		batch batchOf
		want  [2][]float64
	}{
		// group -7 has, by score, relevance 1, 0 and 2; 5 two equal scores, the first in the first place; 9 one row
		"three groups": {fed([]float32{3, 4, 1, 2, 4, 0}, []float32{1, 0, 2, 0, 1, 3}, []int64{1, 0, 2, 0, 1, 3}, []int64{-7, 5, -7, -7, 5, 9}),
			[2][]float64{{pair(3, 2), 0, pair(1, 3) + pair(1, 2), 0, pair(4, 4), 0},
				{(1 - second) / best * pair(3, 2), 0, 1/best*pair(1, 3) + 2*second/best*pair(1, 2), 0, (1 - second) * pair(4, 4), 0}}},
		"alike":   {fed([]float32{1, 2}, []float32{2, 2}, []int64{2, 2}, []int64{1, 1}), [2][]float64{{0, 0}, {0, 0}}},
		"one row": {fed([]float32{1}, []float32{2}, []int64{2}, []int64{1}), [2][]float64{{0}, {0}}},
		"far":     {fed([]float32{-900, 900}, []float32{1, 0}, []int64{1, 0}, []int64{1, 1}), [2][]float64{{1800, 0}, {1800 * (1 - second), 0}}},
	} {
		out, err := exe.Eval(t.Context(), c.batch, nodes...)
		law.Check(t, err)
		for i, o := range out {
			for row, got := range o.Float32s() {
				if want := c.want[i%2][row]; math.Abs(float64(got)-want) > 1e-6*max(want, 1) {
					t.Errorf("%s: %s of row %d is %v, want %v", name, nodes[i].Label(), row, got, want)
				}
			}
		}
	}
	if nodes[0].Label() != "rank_net" || nodes[1].Label() != "lambda_rank" {
		t.Errorf("they are called %s and %s", nodes[0].Label(), nodes[1].Label())
	}
	for i, relevance := range []float32{float32(math.NaN()), -1, float32(math.Inf(1))} {
		out, err := exe.Eval(t.Context(), fed([]float32{1, 2}, []float32{1, relevance}, []int64{1, 0}, []int64{1, 1}), nodes[i%2])
		if i == 0 && (err != nil || !math.IsNaN(float64(out[0].Float32s()[1]))) || i > 0 && (err == nil || !strings.Contains(err.Error(), "row 1")) {
			t.Errorf("of a relevance %v: %v, %v", relevance, out, err)
		}
	}
	if _, err := exe.Eval(t.Context(), fed([]float32{1}, []float32{1}, []int64{-1}, []int64{1}), nodes[2]); err == nil {
		t.Error("an int64 relevance of -1 is taken")
	}
}
