package nn

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
	"gorgonia.org/tensor"
)

// TestFeedsInHand: slices become feeds of the declared shape, and what is no whole number of examples is refused by name.
func TestFeedsInHand(t *testing.T) {
	for name, c := range map[string]struct {
		feed *tensor.Dense
		want []int
	}{
		"one number each":     {Floats([]float32{1, 2, 3}), []int{3, 1}},
		"five each":           {Floats(make([]float32, 10), 5), []int{2, 5}},
		"images":              {Floats(make([]float32, 24), 1, 3, 4), []int{2, 1, 3, 4}},
		"classes":             {Ints([]int64{1, 2}), []int{2, 1}},
		"wide ids":            {IDs([]uint64{1, 2, 3, math.MaxUint64}, 2), []int{2, 2}},
		"a rest":              {Floats(make([]float32, 11), 5), []int{11}},
		"none":                {Floats(nil, 5), []int{0}},
		"no such shape":       {Ints(make([]int64, 4), 0), []int{4}},
		"negative":            {Ints(make([]int64, 4), -2, -2), []int{4}},
		"a shape too large":   {Ints(make([]int64, 4), 5), []int{4}},
		"a shape of overflow": {Ints(make([]int64, 4), math.MaxInt, math.MaxInt), []int{4}},
	} {
		if got := []int(c.feed.Shape()); !slices.Equal(got, c.want) {
			t.Errorf("%s: shape %v, want %v", name, got, c.want)
		}
	}
	g := NewGraph(1)
	x := g.Input("x", 5)
	for values, want := range map[int]string{11: `nn: feed "x" has shape (11), the graph declares [N 5]`, 0: `feed "x"`} {
		if _, err := NewExecutor(g).Eval(t.Context(), batchOf{"x": Floats(make([]float32, values), 5)}, Sum(x, 1)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d values: %v, want %s", values, err, want)
		}
	}
}

// TestSlotsInHand: the ids of each example are pooled as those of a dataset's varying column are.
func TestSlotsInHand(t *testing.T) {
	g := NewGraph(1)
	pooled := EmbeddingPool(g.Slot("words"), PoolSum, EmbeddingOptions{Height: 10, Dim: 1, Init: optimizer.Constant{Value: 1}})
	feed := batchOf{}
	feed["words"], feed["words.offsets"] = Slots([][]int64{{7, 9, 9}, {3}})
	out, err := NewExecutor(g).Eval(t.Context(), feed, pooled)
	if err != nil {
		t.Fatal(err)
	}
	if got := out[0].Float32s(); !slices.Equal(got, []float32{3, 1}) {
		t.Errorf("got %v", got)
	}
	if ids, _ := Slots([][]uint64{nil}); len(ids.Data().([]uint64)) != 0 {
		t.Errorf("ids of an example without any are %v", ids.Data())
	}
	feed["words"], feed["words.offsets"] = Slots([][]int64{nil, {}})
	if out, err = NewExecutor(g).Eval(t.Context(), feed, pooled); err != nil || !slices.Equal(out[0].Float32s(), []float32{0, 0}) {
		t.Errorf("of examples without ids: %v, %v", out, err)
	}
}

// TestScalar: one element of any type is its number, everything else is none.
func TestScalar(t *testing.T) {
	for name, c := range map[string]struct {
		of   *tensor.Dense
		want float64
	}{
		"float": {Floats([]float32{0.5}), 0.5}, "int": {Ints([]int64{-3}), -3}, "id": {IDs([]uint64{7}), 7},
		"no dimensions": {tensor.New(tensor.FromScalar(float32(2))), 2},
	} {
		if got := Scalar(c.of); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	for name, of := range map[string]*tensor.Dense{"nil": nil, "two": Floats([]float32{1, 2}), "none": Floats(nil), "text": tensor.New(tensor.WithBacking([]string{"a"}))} {
		if got := Scalar(of); !math.IsNaN(got) {
			t.Errorf("%s: %v, want NaN", name, got)
		}
	}
}
