package nn

import (
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
	"gorgonia.org/tensor"
)

func slotNet() (g *Graph, pooled *Node) {
	g = NewGraph(1)
	return g, EmbeddingPool(g.Slot("s"), PoolSum, EmbeddingOptions{Name: "t", Height: 10, Dim: 2, PaddingIdx: new(int64(-1)),
		Init: optimizer.Constant{Value: 1}})
}

func slotFeed(offsets []int64, ids ...int64) batchOf {
	return batchOf{"s": int64sOf([]int{len(ids)}, ids...), "s.offsets": int64sOf([]int{len(offsets)}, offsets...)}
}

// TestPaddingIsNotLookedUp: the trainer is not asked for it, even where it is outside the height.
func TestPaddingIsNotLookedUp(t *testing.T) {
	g, pooled := slotNet()
	single := Embedding(g.IDs("ids", 2), EmbeddingOptions{Name: "t", Height: 10, Dim: 2, PaddingIdx: new(int64(99)), Init: optimizer.Constant{Value: 1}})
	loss := Mean(Concat(pooled, single))
	k := minimise(t, loss, 0)
	feed := slotFeed([]int64{0, 3, 3}, 5, -1, 7)
	feed["ids"] = int64sOf([]int{2, 2}, 99, 7, 99, 99)
	out := must(t, NewExecutor(g), feed, pooled, single)
	if got := k.asked["t"][0]; !slices.Equal(got, []uint64{5, 7}) {
		t.Errorf("asked for %v", got)
	}
	if err := near(out[0].Float32s(), []float32{2, 2, 0, 0}, 0, 0); err != nil {
		t.Errorf("pooled: %v", err)
	}
	if err := near(out[1].Float32s(), []float32{0, 0, 1, 1, 0, 0, 0, 0}, 0, 0); err != nil {
		t.Errorf("looked up: %v", err)
	}
	if err := near(k.rowG["t"][7], []float32{2. / 12, 2. / 12}, 1e-6, 0); err != nil {
		t.Errorf("gradient: %v", err)
	}
}

func TestSlotFeeds(t *testing.T) {
	g, pooled := slotNet()
	e := NewExecutor(g)
	const rise = "have to rise from 0 to the number of ids"
	tests := map[string]struct {
		feed batchOf
		want string
	}{
		"no offsets":    {batchOf{"s": int64sOf([]int{1}, 1)}, `"s.offsets" is missing`},
		"float offsets": {batchOf{"s": int64sOf([]int{1}, 1), "s.offsets": floats([]int{2}, 0, 1)}, `"s.offsets" holds float32`},
		"empty offsets": {slotFeed(nil, 1), rise},
		"beginning":     {slotFeed([]int64{1, 2}, 1, 2), rise},
		"end":           {slotFeed([]int64{0, 1}, 1, 2), rise},
		"falling":       {slotFeed([]int64{0, 2, 1, 2}, 1, 2), rise},
		"rank":          {batchOf{"s": int64sOf([]int{1, 1}, 1), "s.offsets": int64sOf([]int{2}, 0, 1)}, rise},
		"height":        {slotFeed([]int64{0, 2, 2, 4}, 1, 2, 3, 10), `feed "s", row 2, column 1: 10 is not below 10, the height of embedding "t"`},
		"negative":      {slotFeed([]int64{0, 2, 2, 4}, 1, -2, 3, 9), `feed "s", row 0, column 1: -2 is negative`},
	}
	for name, test := range tests {
		if _, err := e.Eval(t.Context(), test.feed, pooled); !strings.Contains(unplaced(err), test.want) {
			t.Errorf("%s: %v does not say %q", name, err, test.want)
		}
	}
	if _, err := e.Eval(t.Context(), slotFeed([]int64{0}), g.Node("s")); err == nil || !strings.Contains(err.Error(), "can't be fetched") {
		t.Errorf("got %v", err)
	}
}

// TestSlotsOfNothing: a batch whose examples have no ids.
func TestSlotsOfNothing(t *testing.T) {
	g, pooled := slotNet()
	minimise(t, Mean(pooled), 0.1)
	e := NewExecutor(g)
	none := tensor.New(tensor.WithShape(0), tensor.WithBacking([]int64{}))
	out := must(t, e, batchOf{"s": none, "s.offsets": int64sOf([]int{3}, 0, 0, 0)}, pooled)
	if err := near(out[0].Float32s(), make([]float32, 4), 0, 0); err != nil {
		t.Error(err)
	}
}
