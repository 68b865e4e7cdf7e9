package nn

import (
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/local"
)

// TestArgumentsAreTheCallers: whoever builds a graph from slices may use them for something else afterwards.
func TestArgumentsAreTheCallers(t *testing.T) {
	t.Parallel()
	g := NewGraph(1)
	dims, axes, shape, weights := []int{2, 3}, []int{0, 2, 1}, []int{6, 2}, []float32{1, 4}
	x := g.Input("x", dims...)
	flat := Reshape(Transpose(x, axes...), shape[:1]...)
	w := g.Parameter(ParameterOptions{}, shape...)
	heads := []*Node{MatMul(flat, w), MatMul(flat, w)}
	pred, model := Concat(heads...), Inference(heads...)
	weight := ClassWeights(g.Input("label", 1), ClassWeightOptions{Weights: weights})
	before := g.String()
	for i := range dims {
		dims[i], axes[i], shape[i], weights[i], heads[i] = 99, 99, 99, 99, pred
	}
	if after := g.String(); after != before {
		t.Errorf("the graph was\n%sand is\n%s", before, after)
	}
	if slices.Contains(pred.Inputs(), pred) || slices.Contains(model.outputs, pred) || weight.op.(classWeights).Weights[0] != 1 {
		t.Error("the graph has what the caller's slices hold now")
	}
	loss := Mean(pred)
	if _, err := local.Minimize(loss, optimizer.SGD{LR: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := NewExecutor(g).Train(t.Context(), map[string]*tensor.Dense{"x": Floats(make([]float32, 12), 2, 3)}); err != nil {
		t.Error(err)
	}
}
