package nn_test

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/local"
	"gorgonia.org/tensor"
)

// TestMistakesNameTheirLine: what is wrong with a graph is told with the line of the program that made the node.
//
// Promise: [G8] what is wrong with a graph, or with a batch for it, is told with the lines of the program that made
// the nodes
// Also: TestBatchesNameTheLine, TestLoadedNodesHaveNoLine
func TestMistakesNameTheirLine(t *testing.T) {
	for _, c := range []struct {
		build func(g *nn.Graph)
		want  string
	}{
		{residual, `nn: add "add_0" (model.go:31): shapes differ: "fc_0" [N 1] and "sum_0" [N]: dimensions after ` +
			`the batch, from the right, must be equal or 1`},
		{activated, `nn: linear "x" (model.go:41): the name is taken by input "x" (model.go:35)`},
		{activatedByItsOwn, `nn: reshape "reshape_0" (model.go:51): input "fc_0" [N 2] has 2 numbers an example, [5] has 5`},
		{nothing, `nn: concat (model.go:61): input 1 is nil`},
		{tables, `nn: table "t" (model.go:72): "t" [0 2] (model.go:71) exists, and this has Dim 3 for 2: lookups of one name share one table`},
		{named, `nn: "relu_0" [N 1] (model.go:81) can't be named "x" (model.go:82): the name is empty or taken`},
		{normed, `nn: layer_norm (model.go:91): Momentum is 0.9, but layer norm has no moving averages: leave it out`},
	} {
		g := nn.NewGraph(1)
		c.build(g)
		if err := g.Err(); err == nil || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

// TestBatchesNameTheLine: what is wrong with a batch is told with the lines where the feed, and what sets the limit, were declared.
func TestBatchesNameTheLine(t *testing.T) {
	g := nn.NewGraph(1)
	loss := model(g)
	if _, err := local.Minimize(loss, optimizer.SGD{LR: 0.1}); err != nil {
		t.Fatal(err)
	}
	type feeds = map[string]*tensor.Dense
	for want, spoil := range map[string]func(b feeds){
		`nn: feed "x" (model.go:101) is missing: the batch has ["ids" "label"]`:                                              func(b feeds) { delete(b, "x") },
		`nn: feed "x" has shape (1, 2), the graph declares [N 1] (model.go:101)`:                                             func(b feeds) { b["x"] = nn.Floats([]float32{1, 2}, 2) },
		`nn: feed "x" holds int64, the graph declares float32 (model.go:101): feed float32, as a dataset.Floats column does`: func(b feeds) { b["x"] = nn.Ints([]int64{1}, 1) },
		`nn: feed "ids" (model.go:101), row 0, column 0: 7 is not below 5, the height of embedding "emb" (model.go:103): a larger Height takes it, and a Hash`: func(b feeds) {
			b["ids"] = nn.Ints([]int64{7}, 1)
		},
		`nn: feed "label" (model.go:102), row 0, column 0: 35 is no label of log_loss "log_loss_0" (model.go:105), which is 0 or 1`: func(b feeds) {
			b["label"] = nn.Floats([]float32{35}, 1)
		},
		`nn: feed "x" (model.go:101), row 0, column 0 is NaN: local: `: func(b feeds) { b["x"] = nn.Floats([]float32{float32(math.NaN())}, 1) },
	} {
		batch := feeds{"x": nn.Floats([]float32{1}, 1), "ids": nn.Ints([]int64{1}, 1), "label": nn.Floats([]float32{1}, 1)}
		spoil(batch)
		exe := nn.NewExecutor(g)
		if _, err := exe.Train(t.Context(), batch); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// TestLoadedNodesHaveNoLine, but what a program builds on them has.
func TestLoadedNodesHaveNoLine(t *testing.T) {
	g := nn.NewGraph(1)
	var saved bytes.Buffer
	law.Check(t, nn.Inference(nn.ReLU(g.Input("x", 2))).WriteGraph(&saved))
	read, outputs, err := nn.ReadGraph(saved.Bytes(), nil)
	law.Check(t, err)
	_, err = nn.NewExecutor(read).Eval(t.Context(), nil, outputs[0])
	if want := `nn: feed "x" is missing: the batch has []`; fmt.Sprint(err) != want {
		t.Errorf("got %v, want %s", err, want)
	}
	outputs[0].Named("x")
	nn.Reshape(outputs[0], 3)
	if err := read.Err(); !strings.Contains(fmt.Sprint(err), `nn: "relu_0" [N 2] can't be named "x" (origins_test.go:`) {
		t.Errorf("got %v", err)
	}
}
