package nn

import (
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// distance is the loss of a tower on two inputs.
func distance(g *Graph, tower func(*Node) *Node) *Node {
	return Mean(SquareError(tower(g.Input("a", 3)), Scale(tower(g.Input("b", 3)), 0.5, 1)))
}

// TestSharedLayers: what is applied twice trains as the same operations on parameters that are written out once, and is
// saved with them.
//
// Promise: [G2] a shared layer trains as the same operations on parameters that are written out once, and what it
// can't share is refused
// Also: TestSharedTowers, TestSharedRefuses
func TestSharedLayers(t *testing.T) {
	parameters := func(g *Graph) (w, b *Node) {
		return g.Parameter(ParameterOptions{Name: "w"}, 3, 2), g.Parameter(ParameterOptions{Name: "bias"}, 2)
	}
	byHand, shared := NewGraph(3), NewGraph(3)
	w, b := parameters(byHand)
	losses := []*Node{
		distance(byHand, func(x *Node) *Node { return Tanh(Add(MatMul(x, w), b)) }),
		distance(shared, Shared(func(x *Node) *Node {
			w, b := parameters(shared)
			return Tanh(Add(MatMul(x, w), b))
		})),
	}
	feed := batchOf{"a": floats([]int{2, 3}, uniform(1, 6, -1, 1)...), "b": floats([]int{2, 3}, uniform(2, 6, -1, 1)...)}
	var last [2]float32
	for i, loss := range losses {
		k := minimise(t, loss, 0.1)
		e := NewExecutor(loss.graph)
		for range 5 {
			last[i] = must(t, e, feed, loss)[0].Float32s()[0]
		}
		m := reload(t, loss, k)
		want := must(t, e, feed, loss)[0].Float32s()[0]
		got, err := NewExecutor(m.Graph).Eval(t.Context(), feed, m.Outputs...)
		if err != nil || got[0].Float32s()[0] != want {
			t.Errorf("loaded: %v, %v, want %v", got, err, want)
		}
	}
	if last[0] != last[1] || len(shared.Params()) != 2 {
		t.Errorf("losses by hand and shared: %v; parameters %v", last, shared.Params())
	}
}

// TestSharedTowers: layers, tables, names and shared layers within shared layers; the second call adds no parameter.
func TestSharedTowers(t *testing.T) {
	g := NewGraph(1)
	ids := g.IDs("ids", 1)
	inner := Shared(func(x *Node) *Node { return Linear(x, 4, LinearOptions{Name: "inner"}) })
	tower := Shared(func(x *Node) *Node {
		h := LayerNorm(Linear(x, 5, LinearOptions{Name: "tower", Act: Tanh}), NormOptions{})
		h = BatchNorm(Concat(h, Embedding(ids, EmbeddingOptions{Dim: 2, Height: 7}), Embedding(ids, EmbeddingOptions{Name: "own", Dim: 1})),
			NormOptions{})
		return Linear(Dropout(inner(inner(Reshape(Linear(h, 4, LinearOptions{}), 4))), 0.5), 2, LinearOptions{NoBias: true}).Named("top")
	})
	a, b := tower(g.Input("a", 3)), tower(g.Input("b", 3))
	law.Check(t, g.Err())
	if len(g.Params()) != 15 || a.Name() != "top" || b.Name() != "top_0" {
		t.Errorf("%d parameters, results %v and %v:\n%s", len(g.Params()), a, b, g)
	}
	minimise(t, Mean(SquareError(a, b)), 0.1)
	e := NewExecutor(g)
	x := floats([]int{2, 3}, uniform(1, 6, -1, 1)...)
	feed := batchOf{"a": x, "b": x, "ids": int64sOf([]int{2, 1}, 1, 2)}
	got, err := e.Eval(t.Context(), feed, a, b)
	law.Check(t, err)
	if err := near(got[0].Float32s(), got[1].Float32s(), 0, 0); err != nil {
		t.Errorf("the same input gives two results: %v", err)
	}
	got = must(t, e, feed, a, b)
	if near(got[0].Float32s(), got[1].Float32s(), 0, 0) == nil {
		t.Error("both calls drop the same elements")
	}
}

// TestSharedRefuses: what a shared layer can't share, and a name that is used twice without one.
func TestSharedRefuses(t *testing.T) {
	linear := func(x *Node) *Node { return Linear(x, 2, LinearOptions{Name: "fc"}) }
	calls := 0
	for _, c := range []struct {
		tower func(*Node) *Node
		width int // of the second input
		want  string
	}{
		{linear, 3, `parameter "fc.w_0"`},
		{linear, 3, "is made by Shared"},
		{Shared(linear), 4, "the shared layer made it of shape [3 2], and is applied here to what needs [4 2]"},
		{Shared(func(x *Node) *Node {
			calls++
			return Linear(x, 2, LinearOptions{NoBias: calls == 1})
		}), 3, "takes 1 parameters where it is applied first, and 2 here"},
		{Shared(func(x *Node) *Node {
			calls++
			return Linear(x, 2, LinearOptions{NoBias: calls == 4})
		}), 3, "takes 2 parameters where it is applied first, and 1 here"},
	} {
		g := NewGraph(1)
		c.tower(g.Input("a", 3))
		c.tower(g.Input("b", c.width))
		if err := g.Err(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	g := NewGraph(1)
	tower := Shared(linear)
	tower(g.Input("a", 3))
	if tower(NewGraph(1).Input("b", 3)); g.Err() != nil {
		t.Error(g.Err())
	}
	if n := tower(nil); n.Err() == nil {
		t.Error("nil is no input")
	}
}

// TestConv1D: its parameters and its result are those that it says, and Act is applied to the result.
func TestConv1D(t *testing.T) {
	g := NewGraph(1)
	x := g.Input("x", 7, 4)
	y := Conv1D(x, 6, ConvOptions{Name: "c", Kernel: 3, Stride: 2, Padding: 1, Groups: 2, Act: ReLU})
	if g.Err() != nil || !equalShapes(y.Shape(), []int{batch, 4, 6}) || !equalShapes(g.Node("c.w_0").Shape(), []int{6, 2, 3, 1}) {
		t.Errorf("%v of %v, %v", y, g.Node("c.w_0"), g.Err())
	}
	if y := Conv1D(x, 2, ConvOptions{Kernel: 3, Same: true}); !equalShapes(y.Shape(), []int{batch, 7, 2}) || y.Err() != nil {
		t.Errorf("%v, %v", y, y.Err())
	}
	if y := Conv1D(g.Input("image", 1, 4, 4), 2, ConvOptions{Kernel: 3}); y.Err() == nil || !strings.Contains(y.Err().Error(), "[N L C]") {
		t.Error(y.Err())
	}
}

// TestSharedMadeWithinShared: a shared layer that is made within another has the parameters of the outer one's first call,
// also beside one that was made outside, and two levels down.
func TestSharedMadeWithinShared(t *testing.T) {
	g := NewGraph(1)
	linear := func(x *Node) *Node { return Linear(x, 2, LinearOptions{}) }
	outside := Shared(linear)
	outer := Shared(func(x *Node) *Node {
		x = outside(x)
		inner := Shared(func(x *Node) *Node {
			deep := Shared(linear)
			return Add(deep(linear(x)), deep(x))
		})
		return Add(inner(x), inner(Scale(x, 2, 0)))
	})
	a, b := outer(g.Input("a", 2)), outer(g.Input("b", 2))
	if err := g.Err(); err != nil || len(g.Params()) != 6 {
		t.Fatalf("%v, %d parameters, want three layers' 6", err, len(g.Params()))
	}
	minimise(t, Mean(SquareError(a, b)), 0.1)
	x := floats([]int{2, 2}, uniform(1, 4, -1, 1)...)
	got, err := NewExecutor(g).Eval(t.Context(), batchOf{"a": x, "b": x}, a, b)
	law.Check(t, err)
	if err := near(got[0].Float32s(), got[1].Float32s(), 0, 0); err != nil {
		t.Errorf("the same input gives two results: %v", err)
	}

	g = NewGraph(1)
	calls := 0
	outer = Shared(func(x *Node) *Node {
		if calls++; calls == 2 {
			return Shared(linear)(x)
		}
		return linear(x)
	})
	outer(g.Input("a", 2))
	outer(g.Input("b", 2))
	if err := g.Err(); err == nil || !strings.Contains(err.Error(), "applied first in a further call of another") {
		t.Error(err)
	}
}
