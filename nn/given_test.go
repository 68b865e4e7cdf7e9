package nn_test

import (
	"testing"

	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/nn"
)

// TestGiven: nodes of a graph of their own have the values that the original's would have with another prediction; those that still
// depend on params are nil, and the original does not change.
func TestGiven(t *testing.T) {
	g := nn.NewGraph(1)
	y := g.Input("y", 1)
	x := nn.Linear(g.Input("x", 1), 1, nn.LinearOptions{})
	p := nn.Sigmoid(x)
	loss, acc := nn.Mean(nn.SquareError(p, y)), nn.BinaryAccuracy(p, y)
	nodes := len(g.Inputs())
	copies := nn.Given([]*nn.Node{x}, loss, acc, y, nn.Mean(nn.Linear(x, 1, nn.LinearOptions{})))
	if copies[3] != nil || copies[0].Graph() == g || copies[0].Err() != nil || len(g.Inputs()) != nodes || g.Err() != nil {
		t.Fatalf("copies are %v, error %v", copies, copies[0].Err())
	}
	of := func(v ...float32) *tensor.Dense {
		return tensor.New(tensor.WithShape(len(v), 1), tensor.WithBacking(v))
	}
	out, err := nn.NewExecutor(copies[0].Graph()).Eval(t.Context(), map[string]*tensor.Dense{x.Name(): of(0, 0), "y": of(1, 0)}, copies[:3]...)
	if err != nil || nn.Scalar(out[0]) != 0.25 || nn.Scalar(out[1]) != 0.5 {
		t.Errorf("the values are %v, error %v", out, err)
	}
}
