package verdict

import (
	"fmt"
	"testing"

	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/nn"
)

// TestConstants: of each loss the constant prediction follows from the labels, with the weights of their rows.
func TestConstants(t *testing.T) {
	labels := floats(0, 1, 0, 0)
	classes := tensor.New(tensor.WithShape(4, 1), tensor.WithBacking([]int64{1, 1, 3, -100}))
	shares := tensor.New(tensor.WithShape(2, 2), tensor.WithBacking([]float32{1, 0, 0.5, 0.5}))
	for name, c := range map[string]struct {
		loss          func(pred, y, class, x, soft, w *nn.Node) *nn.Node
		label, weight *tensor.Dense
		want, always  string
	}{
		"chance":   {func(p, y, _, _, _, _ *nn.Node) *nn.Node { return nn.Mean(nn.LogLoss(p, y)) }, labels, nil, "[0.25]", "always 0.2500"},
		"odds":     {func(p, y, _, _, _, _ *nn.Node) *nn.Node { return nn.Mean(nn.BinaryCrossEntropyWithLogits(p, y)) }, labels, nil, "[-1.0986123]", "always 0.2500"},
		"no ones":  {func(p, y, _, _, _, _ *nn.Node) *nn.Node { return nn.Mean(nn.LogLoss(p, y)) }, floats(0, 0), nil, "[0.25]", "always 0.0000"},
		"sign":     {func(p, y, _, _, _, _ *nn.Node) *nn.Node { return nn.Mean(nn.Hinge(p, y)) }, labels, nil, "[-1]", "always 0.2500"},
		"weighted": {func(p, y, _, _, _, w *nn.Node) *nn.Node { return nn.WeightedMean(nn.SquareError(p, y), w) }, floats(9, 5, 1, 2), floats(0, 1, 3, 0), "[2]", "always 2.0000"},
		"logits": {func(_, _, class, x, _, _ *nn.Node) *nn.Node {
			return nn.Mean(nn.SoftmaxWithCrossEntropyOf(x, class, nn.CrossEntropyOptions{Ignore: new(int64(-100))}))
		}, classes, nil, "[-1.7917595 -0.4054651 -1.7917595 -1.0986123]", "always the shares of the classes"},
		"classes": {func(_, _, class, x, _, _ *nn.Node) *nn.Node { return nn.Mean(nn.CrossEntropy(nn.Softmax(x), class)) }, classes, nil, "[0.16666667 0.6666667 0.16666667 0.33333334]", "always the shares of the classes"},
		"soft": {func(_, _, _, _, soft, _ *nn.Node) *nn.Node {
			return nn.Mean(nn.SoftmaxWithCrossEntropy(nn.Scale(soft, 2, 0), soft))
		}, shares, nil, "[-0.2876821 -1.3862944]", "always the shares of the classes"},
		"two": {func(_, _, _, _, soft, _ *nn.Node) *nn.Node {
			return nn.Mean(nn.AbsoluteError(nn.Scale(soft, 2, 0), soft))
		}, shares, nil, "[0.75 0.25]", "always the means of the labels"},
	} {
		g := nn.NewGraph(1)
		loss := c.loss(g.Input("p", 1), g.Input("y", 1), g.IDs("class", 1), g.Input("x", 4), g.Input("soft", 2), g.Input("w", 1))
		if err := g.Err(); err != nil {
			t.Fatal(err)
		}
		aims := Aims(nn.Scale(loss, 2, 0))
		if len(aims) != 1 || (aims[0].Weight != nil) != (c.weight != nil) {
			t.Fatalf("%s: %v", name, aims)
		}
		sums := make([]float64, aims[0].Size())
		aims[0].Add(sums, c.label, c.weight)
		if got, always := fmt.Sprint(aims[0].Constant(sums)), Always(aims, sums, func(y float64) float64 { return y }); got != c.want || always != c.always {
			t.Errorf("%s: %s, %s; want %s, %s", name, got, always, c.want, c.always)
		}
	}
	g := nn.NewGraph(1)
	if all := Aims(nn.Mean(nn.SoftmaxWithCrossEntropy(g.Input("wide", mostNumbers+1), g.IDs("word", 1)))); len(all) > 0 {
		t.Errorf("%v are too many classes for a checkpoint", all)
	}
}
