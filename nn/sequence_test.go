package nn

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"
)

// TestSequenceAsksForWhatItKeeps: of an example with more ids than positions the last are looked up, counted and
// trained, and no others.
//
// Promise: [G2] of an example with more ids than positions those that have none are not looked up, and values beside
// ids have their number
// Also: TestValuesThatDontFit
func TestSequenceAsksForWhatItKeeps(t *testing.T) {
	g := NewGraph(1)
	label := g.Input("label", 1)
	s := EmbeddingSequence(g.Slot("ids"), 2, EmbeddingOptions{Name: "t", Dim: 2, PaddingIdx: new(int64(9)), Entry: byClicks, Click: label})
	k := &counter{keeper: newKeeper(t, 0.1)}
	loss := Mean(SequencePool(s.Rows, s.Mask, PoolSum))
	loss.Bind(k)
	e := NewExecutor(g)
	feed := batchOf{"label": floats([]int{4, 1}, 1, 0, 1, 1)}
	feed["ids"], feed["ids.offsets"] = Slots([][]int64{{1, 2, 3}, {}, {9, 3}, {4, 5, 9, 9}})
	out := must(t, e, feed, s.Mask, s.Positions, s.Rows)
	if got := out[0].Float32s(); !slices.Equal(got, []float32{1, 1, 0, 0, 0, 1, 0, 0}) {
		t.Errorf("mask %v", got)
	}
	if got := out[1].Float32s(); !slices.Equal(got, []float32{1, 2, 0, 0, 0, 1, 0, 0}) {
		t.Errorf("positions %v", got)
	}
	if rows := out[2].Float32s(); !slices.Equal(rows[2:4], rows[10:12]) || rows[2] == 0 || slices.Max(rows[12:]) != 0 {
		t.Errorf("rows %v", rows)
	}
	if want := []uint64{2, 3}; !slices.Equal(k.ids, want) || !slices.Equal(k.click, []float32{1, 2}) || !slices.Equal(k.show, []float32{1, 2}) {
		t.Errorf("ids %v, shows %v, clicks %v; want %v", k.ids, k.show, k.click, want)
	}
}

// TestSequenceOfWideIDs: ids may be uint64 where they are looked up and masked, and padding of −1 is then none of them.
func TestSequenceOfWideIDs(t *testing.T) {
	g := NewGraph(1)
	s := EmbeddingSequence(g.IDs("ids", 3), 0, EmbeddingOptions{Name: "t", Dim: 1, PaddingIdx: new(int64(-1))})
	e := NewExecutor(g)
	minimise(t, Mean(s.Rows), 0.1)
	out := must(t, e, batchOf{"ids": tensor.New(tensor.WithShape(1, 3), tensor.WithBacking([]uint64{1<<64 - 1, 5, 5}))}, s.Mask, s.Rows)
	if got := out[0].Float32s(); !slices.Equal(got, []float32{1, 1, 1}) || out[1].Float32s()[0] == 0 {
		t.Errorf("mask %v of rows %v", got, out[1])
	}
	out = must(t, e, batchOf{"ids": int64sOf([]int{1, 3}, -1, 5, -1)}, s.Mask, s.Rows)
	if got := out[0].Float32s(); !slices.Equal(got, []float32{0, 1, 0}) || out[1].Float32s()[0] != 0 {
		t.Errorf("mask %v of rows %v", got, out[1])
	}
}

// valued is a model of LibSVM's lines.
func valued() (g *Graph, pred, loss *Node) {
	g = NewGraph(1)
	x := EmbeddingPoolWeighted(g.Slot("ids"), g.SlotValues("values"), PoolSum, EmbeddingOptions{Name: "w", Dim: 1})
	pred = Sigmoid(x)
	return g, pred, Mean(BinaryCrossEntropyWithLogits(x, g.Input("label", 1)))
}

// TestValuesThatDontFit: values of another number than ids are refused with their row, in training and scoring; so is
// what they are not for.
func TestValuesThatDontFit(t *testing.T) {
	g, pred, loss := valued()
	minimise(t, loss, 0.5)
	feed := batchOf{"label": floats([]int{2, 1}, 1, 0)}
	feed["ids"], feed["ids.offsets"] = Slots([][]int64{{3}, {17, 4}})
	feed["values"], feed["values.offsets"] = Slots([][]float32{{1}, {1, 2, 3}})
	_, err := NewExecutor(g).Train(t.Context(), feed)
	if err == nil || !strings.Contains(err.Error(), `feed "values"`) || !strings.Contains(err.Error(), `row 1: 3 values for 2 ids of "ids"`) {
		t.Error(err)
	}
	if _, err := NewExecutor(g).Eval(t.Context(), feed, g.Node("values")); err == nil || !strings.Contains(err.Error(), "differ in length") {
		t.Error(err)
	}
	if _, err := NewExecutor(g).Eval(t.Context(), feed, pred); err == nil {
		t.Error("evaluated")
	}
	if text := fmt.Sprint(g); !strings.Contains(text, "slot values") {
		t.Error(text)
	}
}

// TestSequenceStepsAllocateNothing: what a step of sequences needs is planned once.
//
// Promise: [G2] a step of layers allocates nothing; a softmax of places that are all left out is 0
// Also: TestOpsSitTheExam, TestMaskedSoftmaxOfNothing
func TestSequenceStepsAllocateNothing(t *testing.T) {
	countsAllocations(t)
	g := NewGraph(1)
	ids := g.Slot("ids")
	s := EmbeddingSequence(ids, 3, EmbeddingOptions{Name: "t", Dim: 4})
	h := Concat(SequencePool(s.Rows, s.Mask, PoolMax),
		EmbeddingPoolWeighted(ids, g.SlotValues("values"), PoolMean, EmbeddingOptions{Name: "t", Dim: 4}),
		EmbeddingPool(ids, PoolMax, EmbeddingOptions{Name: "t", Dim: 4}))
	item := Linear(Embedding(g.IDs("item", 1), EmbeddingOptions{Name: "t", Dim: 4}), 6, LinearOptions{})
	loss := WeightedMean(InBatchSoftmax(Linear(h, 6, LinearOptions{}), item, InBatchOptions{IDs: g.Node("item")}),
		ClassWeights(g.IDs("class", 1), ClassWeightOptions{Weights: []float32{1, 2}}))
	loss.Bind(still{})
	feed := batchOf{"item": int64sOf([]int{2, 1}, 3, 4), "class": int64sOf([]int{2, 1}, 0, 1)}
	feed["ids"], feed["ids.offsets"] = Slots([][]int64{{1, 2, 3, 4, 5}, {6}})
	feed["values"], feed["values.offsets"] = Slots([][]float32{{1, 2, 3, 4, 5}, {6}})
	e := NewExecutor(g)
	step := func() {
		if _, err := e.Train(t.Context(), feed); err != nil {
			t.Fatal(err)
		}
	}
	for range 4 {
		step()
	}
	if got := testing.AllocsPerRun(30, step); got > 0 {
		t.Errorf("a step allocates %v times", got)
	}
}
