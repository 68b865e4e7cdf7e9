package nn_test

import (
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/local"
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

// TestCopy: a copy of a graph learns what the original would, with the same first values, and changes nothing of it; its tables count
// shows and clicks.
func TestCopy(t *testing.T) {
	g := nn.NewGraph(7)
	shows, clicks := g.Input("shows", 1), g.Input("clicks", 1)
	row := nn.Embedding(g.IDs("id", 1), nn.EmbeddingOptions{Dim: 2, Entry: optimizer.Entry{ShowClick: optimizer.ShowClick{Threshold: 1}}, Show: shows, Click: clicks})
	pred := nn.Linear(nn.Dropout(nn.BatchNorm(nn.Concat(row, g.Input("x", 1)), nn.NormOptions{}), 0.5), 1, nn.LinearOptions{})
	loss := nn.Mean(nn.SquareError(pred, g.Input("y", 1)))
	copies := nn.Copy(loss, pred)
	if err := copies[0].Err(); err != nil || copies[0].Graph() == g || len(copies) != 2 {
		t.Fatal(copies, err)
	}
	floats := func(v ...float32) *tensor.Dense {
		return tensor.New(tensor.WithShape(len(v), 1), tensor.WithBacking(v))
	}
	batch := map[string]*tensor.Dense{"shows": floats(1, 1, 1), "clicks": floats(0, 1, 0), "x": floats(1, 2, 4), "y": floats(1, 0, 1),
		"id": tensor.New(tensor.WithShape(3, 1), tensor.WithBacking([]int64{1, 2, 1}))}
	steps := func(of *nn.Node) (losses []float64) {
		tables, err := local.New(of.Params(), optimizer.SGD{LR: 0.1})
		law.Check(t, err)
		of.Bind(tables)
		exe := nn.NewExecutor(of.Graph())
		for range 3 {
			out, err := exe.Train(t.Context(), batch, of)
			law.Check(t, err)
			losses = append(losses, nn.Scalar(out[0]))
		}
		return losses
	}
	if of, its := steps(copies[0]), steps(loss); !slices.Equal(of, its) || of[0] == of[2] {
		t.Errorf("the copy's losses are %v, the original's %v", of, its)
	}
}
