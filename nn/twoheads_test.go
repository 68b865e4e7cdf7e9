package nn

import (
	"slices"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
	"gorgonia.org/tensor"
)

// TestParamsThatNoTrainerKeeps: of two outputs of which one is trained, every executor evaluates the other with the graph's own weights.
func TestParamsThatNoTrainerKeeps(t *testing.T) {
	g := NewGraph(1)
	x := g.Input("x", 2)
	trained, other := Linear(x, 1, LinearOptions{}), Linear(x, 1, LinearOptions{BiasInit: optimizer.Constant{Value: 1}})
	feeds := map[string]*tensor.Dense{"x": tensor.New(tensor.WithShape(1, 2), tensor.WithBacking([]float32{1, 2}))}
	want, err := NewExecutor(g).Eval(t.Context(), feeds, other)
	if err != nil {
		t.Fatal(err)
	}
	minimise(t, Mean(trained), 0.1)
	first, second := NewExecutor(g), NewExecutor(g)
	if _, err := first.Train(t.Context(), feeds); err != nil {
		t.Fatal(err)
	}
	for i, exe := range []*Executor{first, second} {
		got, err := exe.Eval(t.Context(), feeds, other)
		if err != nil || !slices.Equal(got[0].Float32s(), want[0].Float32s()) {
			t.Errorf("executor %d says %v, error %v, want %v", i, got, err, want)
		}
	}
}
