package nn

import (
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
	"gorgonia.org/tensor"
)

func uint64sOf(shape []int, ids ...uint64) *tensor.Dense {
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(ids))
}

// TestWideIDs: ids fed as uint64 are the ids that tables know, up to 2⁶⁴−1, of fixed feeds and slots, with padding and without.
func TestWideIDs(t *testing.T) {
	const first, last = 1 << 63, 1<<64 - 1
	g := NewGraph(1)
	o := EmbeddingOptions{Name: "t", Dim: 1, Init: optimizer.Constant{Value: 1}}
	plain := Embedding(g.IDs("ids", 2), o)
	o.PaddingIdx = new(int64(-1)) // is no uint64
	minus := Embedding(g.IDs("minus", 1), o)
	o.PaddingIdx = new(int64(7))
	pooled := EmbeddingPool(g.Slot("s"), PoolSum, o)
	k := minimise(t, Mean(Concat(plain, minus, pooled)), 1)
	e := NewExecutor(g)
	feed := batchOf{"ids": uint64sOf([]int{2, 2}, 3, last, first, 3), "minus": uint64sOf([]int{2, 1}, last, 5),
		"s": uint64sOf([]int{3}, 7, first, 9), "s.offsets": int64sOf([]int{3}, 0, 2, 3)}
	if _, err := e.Train(t.Context(), feed); err != nil {
		t.Fatal(err)
	}
	if got := k.asked["t"][0]; !slices.Equal(got, []uint64{3, 5, 9, first, last}) {
		t.Errorf("asked for %v", got)
	}
	before := map[uint64]float32{}
	for id, row := range k.rows["t"] {
		before[id] = row[0]
	}
	out := must(t, e, feed, plain, minus, pooled, g.Node("ids"))
	w := func(id uint64) float32 { return before[id] }
	if a, b := out[0].Float32s(), []float32{w(3), w(last), w(first), w(3)}; !slices.Equal(a, b) {
		t.Errorf("looked up %v, want %v", a, b)
	}
	if a, b := out[1].Float32s(), []float32{w(last), w(5)}; !slices.Equal(a, b) {
		t.Errorf("looked up with a padding of -1: %v, want %v", a, b)
	}
	if a, b := out[2].Float32s(), []float32{w(first), w(9)}; !slices.Equal(a, b) {
		t.Errorf("pooled %v, want %v", a, b)
	}
	if ids, ok := out[3].Data().([]uint64); !ok || !slices.Equal(ids, []uint64{3, last, first, 3}) {
		t.Errorf("fetched %v", out[3].Data())
	}
}

// TestWideGroups: rows are grouped by ids that are fed as uint64 as by others, and the ids are looked up too.
func TestWideGroups(t *testing.T) {
	g := NewGraph(1)
	user, y := g.IDs("user", 1), g.IDs("y", 1)
	p := Scale(Sigmoid(Embedding(user, EmbeddingOptions{Dim: 1})), 0, 0)
	p = Add(p, g.Input("p", 1))
	of := []*Node{GroupAUC(p, y, user), GroupMRR(p, y, user), RankNet(p, y, user)}
	minimise(t, Mean(p), 5)
	shape := []int{5, 1}
	fed := batchOf{"p": floats(shape, .1, .2, .3, .9, .8), "y": int64sOf(shape, 0, 1, 0, 1, 0), "user": int64sOf(shape, 1, 1, 1, 2, 2)}
	e := NewExecutor(g)
	want := make([]float32, len(of))
	for i, n := range of {
		want[i] = must(t, e, fed, n)[0].Float32s()[0]
	}
	fed["user"] = uint64sOf(shape, 1<<63, 1<<63, 1<<63, 1<<64-1, 1<<64-1)
	e = NewExecutor(g)
	for i, n := range of {
		if got := must(t, e, fed, n)[0].Float32s()[0]; got != want[i] || got != got {
			t.Errorf("%v is %v by ids above 2⁶³, %v by others", n, got, want[i])
		}
	}
}

// TestWideIDsRefused: a negative int64 is no id, an id of a table with a height is below it, and labels are no ids.
func TestWideIDsRefused(t *testing.T) {
	g := NewGraph(1)
	ids, label := g.IDs("ids", 2), g.IDs("label", 1)
	open := Embedding(ids, EmbeddingOptions{Name: "open", Dim: 3})
	high := Embedding(ids, EmbeddingOptions{Name: "high", Dim: 3, Height: 1 << 40})
	loss := Mean(SoftmaxWithCrossEntropy(open, label))
	narrow, labels := int64sOf([]int{1, 2}, 3, 4), int64sOf([]int{1, 1}, 1)
	for _, c := range []struct {
		fetch *Node
		feed  batchOf
		want  string
	}{
		{open, batchOf{"ids": int64sOf([]int{1, 2}, 3, -4)}, `feed "ids", row 0, column 1: -4 is negative`},
		{high, batchOf{"ids": uint64sOf([]int{1, 2}, 3, 1<<64-1)}, "row 0, column 1: 18446744073709551615 is not below 1099511627776"},
		{high, batchOf{"ids": uint64sOf([]int{1, 2}, 1<<40, 3)}, "row 0, column 0: 1099511627776 is not below 1099511627776"},
		{loss, batchOf{"ids": narrow, "label": uint64sOf([]int{1, 1}, 1)}, `feed "label" holds uint64, the graph declares int64`},
		{loss, batchOf{"ids": floats([]int{1, 2}, 1, 2), "label": labels}, `feed "ids" holds float32`},
	} {
		if _, err := NewExecutor(g).Eval(t.Context(), c.feed, c.fetch); !strings.Contains(unplaced(err), c.want) {
			t.Errorf("%v does not say %q", err, c.want)
		}
	}
	if _, err := NewExecutor(g).Eval(t.Context(), batchOf{"ids": uint64sOf([]int{1, 2}, 3, 1<<40-1)}, high); err != nil {
		t.Error(err)
	}
}

// TestWideClicksRefused: a feed that counts clicks is a number, though it is looked up as well.
func TestWideClicksRefused(t *testing.T) {
	g := NewGraph(1)
	ids := g.IDs("ids", 1)
	emb := Embedding(ids, EmbeddingOptions{Dim: 1, Click: ids, Entry: optimizer.Entry{ShowClick: optimizer.ShowClick{ClickCoeff: 1, Threshold: 1}}})
	minimise(t, Mean(emb), 0)
	_, err := NewExecutor(g).Train(t.Context(), batchOf{"ids": uint64sOf([]int{1, 1}, 1<<63)})
	if err == nil || !strings.Contains(err.Error(), "holds uint64") {
		t.Errorf("got %v", err)
	}
}
