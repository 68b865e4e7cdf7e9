package nn

import (
	"strings"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
)

// TestMistakes builds wrong graphs: the error names the node, the op and both shapes, and nothing panics.
func TestMistakes(t *testing.T) {
	tests := map[string]struct {
		build func(g *Graph) *Node
		want  []string
	}{
		"shapes differ": {func(g *Graph) *Node { return LogLoss(g.Input("pred", 1), g.Input("label", 2)) },
			[]string{"log_loss", `"pred" [N 1]`, `"label" [N 2]`}},
		"named layer": {func(g *Graph) *Node {
			return apply("fc1", linear{}, g.Input("x", 3), g.Parameter(ParameterOptions{Name: "w"}, 4, 5))
		}, []string{`linear "fc1"`, `"x" [N 3]`, `"w" [4 5]`}},
		"bias": {func(g *Graph) *Node {
			return apply("", linear{}, g.Input("x", 4), g.Parameter(ParameterOptions{}, 4, 5), g.Parameter(ParameterOptions{Name: "b"}, 4))
		}, []string{"linear", `bias "b" [4]`, `"create_parameter_0.w_0" [4 5]`}},
		"add":           {func(g *Graph) *Node { return Add(g.Input("a", 3), g.Input("b", 4)) }, []string{"add", `"a" [N 3]`, `"b" [N 4]`}},
		"fixed to N":    {func(g *Graph) *Node { return Add(g.Input("a", 3), g.Parameter(ParameterOptions{}, 2, 3)) }, []string{"add", "[N 3]", "[2 3]"}},
		"concat rank":   {func(g *Graph) *Node { return Concat(g.Input("a", 3), g.Input("b", 1, 2)) }, []string{"concat", `"a" [N 3]`, `"b" [N 1 2]`}},
		"concat of nil": {func(g *Graph) *Node { return Concat(g.Input("a", 3), nil) }, []string{"concat", "input 1 is nil"}},
		"reshape":       {func(g *Graph) *Node { return Reshape(g.Input("a", 3, 4), 13) }, []string{"reshape", `"a" [N 3 4]`, "[13]"}},
		"reshape -1":    {func(g *Graph) *Node { return Reshape(g.Input("a", 3, 4), -1, 12) }, []string{"reshape", "not positive", "batch is left out"}},
		"overflow":      {func(g *Graph) *Node { return Reshape(g.Input("a", 1), 1<<33, 1<<31) }, []string{"reshape", `"a" [N 1]`}},
		"huge weights":  {func(g *Graph) *Node { return g.Parameter(ParameterOptions{}, 1<<40, 1<<20) }, []string{"parameter", "too many elements"}},
		"huge":          {func(g *Graph) *Node { return g.Input("a", 1<<20, 1<<20) }, []string{"input", "too many elements"}},
		"ids as floats": {func(g *Graph) *Node { return ReLU(g.IDs("ids", 3)) }, []string{"relu", `"ids" [N 3]`, "int64"}},
		"floats as ids": {func(g *Graph) *Node {
			return Embedding(g.Input("x", 3), EmbeddingOptions{Name: "t", Height: 9, Dim: 2})
		}, []string{"embedding", `"x" [N 3]`, "int64"}},
		"label type":   {func(g *Graph) *Node { return CrossEntropy(g.Input("p", 3), g.Input("y", 1)) }, []string{"cross_entropy", `"y" [N 1]`}},
		"label width":  {func(g *Graph) *Node { return Accuracy(g.Input("p", 3), g.IDs("y", 2)) }, []string{"accuracy", `"p" [N 3]`, `"y" [N 2]`}},
		"auc width":    {func(g *Graph) *Node { return AUC(g.Input("p", 3), g.Input("y", 1)) }, []string{"auc", `"p" [N 3]`, `"y" [N 1]`}},
		"no classes":   {func(g *Graph) *Node { return Softmax(g.Input("p")) }, []string{"softmax", `"p" [N]`}},
		"clip":         {func(g *Graph) *Node { return Clip(g.Input("x", 3), 2, 1) }, []string{"clip", "2", "1"}},
		"sum of batch": {func(g *Graph) *Node { return Sum(g.Input("x", 3), 0) }, []string{"sum", "batch"}},
		"no axis":      {func(g *Graph) *Node { return Max(g.Input("x", 3), 2) }, []string{"max", `"x" [N 3]`, "axis 2"}},
		"multiply":     {func(g *Graph) *Node { return Multiply(g.Input("x", 3), g.Input("y", 2)) }, []string{"multiply", `"x" [N 3]`, `"y" [N 2]`}},
		"matmul":       {func(g *Graph) *Node { return MatMul(g.Input("x", 3), g.Input("y", 3)) }, []string{`"x" [N 3]`, `"y" [N 3]`}},
		"dot":          {func(g *Graph) *Node { return Dot(g.Input("q", 3), g.Input("k", 7)) }, []string{"dot", `"q" [N 3]`, `"k" [N 7]`}},
		"dropout":      {func(g *Graph) *Node { return Dropout(g.Input("x", 3), 1) }, []string{"dropout", "probability 1"}},
		"layer norm": {func(g *Graph) *Node {
			return apply("", layerNorm{Epsilon: 1e-5}, g.Input("x", 3), g.Parameter(ParameterOptions{Name: "s"}, 4), g.Parameter(ParameterOptions{}, 3))
		}, []string{"layer_norm", `"s" [4]`, `"x" [N 3]`}},
		"one class":    {func(g *Graph) *Node { return Accuracy(g.Input("p", 1), g.IDs("y", 1)) }, []string{"accuracy", `"p" [N 1] has one class`, "BinaryAccuracy"}},
		"one item":     {func(g *Graph) *Node { return NDCG(g.Input("p", 1), g.Input("y", 1), 3) }, []string{"ndcg", `"p" [N 1] rank the one item`, "AUC"}},
		"top 0":        {func(g *Graph) *Node { return TopK(g.Input("p", 3), g.IDs("y", 1), 0) }, []string{"accuracy", "k is 0"}},
		"no size":      {func(g *Graph) *Node { return Linear(g.Input("x", 3), 0, LinearOptions{Name: "fc1"}) }, []string{`"fc1.w_0"`, "[3 0]"}},
		"negative dim": {func(g *Graph) *Node { return g.Input("x", -1, 3) }, []string{`input "x"`, "[-1 3]"}},
		"no shape":     {func(g *Graph) *Node { return g.Parameter(ParameterOptions{Name: "p"}) }, []string{`parameter "p"`, "needs a shape"}},
		"name taken":   {func(g *Graph) *Node { g.Input("x"); return g.Input("x", 2) }, []string{`input "x"`, "taken"}},
		"layer twice": {func(g *Graph) *Node {
			in := g.Input("x", 3)
			Linear(in, 2, LinearOptions{Name: "fc"})
			return Linear(in, 2, LinearOptions{Name: "fc"})
		}, []string{`"fc.w_0"`, "taken"}},
		"another table": {func(g *Graph) *Node {
			Embedding(g.IDs("a", 1), EmbeddingOptions{Name: "t", Height: 9, Dim: 2})
			return Embedding(g.IDs("b", 1), EmbeddingOptions{Name: "t", Height: 9, Dim: 3})
		}, []string{`table "t"`, "[9 2]", "this has Dim 3 for 2: lookups"}},
		"another entry": {func(g *Graph) *Node {
			Embedding(g.IDs("a", 1), EmbeddingOptions{Name: "t", Dim: 2, Entry: optimizer.Entry{CountFilter: 5}})
			return Embedding(g.IDs("b", 1), EmbeddingOptions{Name: "t", Dim: 2})
		}, []string{`table "t"`, "this has Entry", "CountFilter:0"}},
		"another bound": {func(g *Graph) *Node {
			Embedding(g.IDs("a", 1), EmbeddingOptions{Name: "t", Dim: 2})
			return Embedding(g.IDs("b", 1), EmbeddingOptions{Name: "t", Dim: 2, MaxBytes: 1 << 20})
		}, []string{`table "t"`, "this has MaxBytes 1048576 for 0: lookups"}},
		"another graph": {func(g *Graph) *Node { return Add(g.Input("a", 3), NewGraph(1).Input("b", 3)) }, []string{"add", `"b" [N 3]`, "another graph"}},
		"named twice":   {func(g *Graph) *Node { g.Input("x"); return ReLU(g.Input("y")).Named("x") }, []string{`"x"`, "taken"}},
		"named feed":    {func(g *Graph) *Node { return g.Input("x").Named("y") }, []string{`"x"`, "keep their names"}},
		"table as numbers": {func(g *Graph) *Node {
			return ReLU(g.table(EmbeddingOptions{Name: "t", Height: 9, Dim: 2}))
		}, []string{"relu", `"t" [9 2]`, "table"}},
		"slot as ids":      {func(g *Graph) *Node { return Embedding(g.Slot("s"), EmbeddingOptions{Height: 3, Dim: 2}) }, []string{"embedding", `"s" [N]`}},
		"slot as number":   {func(g *Graph) *Node { return ReLU(g.Slot("s")) }, []string{"relu", `"s" [N]`}},
		"ids as slot":      {func(g *Graph) *Node { return EmbeddingPool(g.IDs("s"), PoolSum, EmbeddingOptions{Height: 3, Dim: 2}) }, []string{"embedding_pool", `"s" [N]`, "slot"}},
		"one candidate":    {func(g *Graph) *Node { return NCE(g.Input("s", 1), nil) }, []string{`nce "nce_0"`, `"s" [N 1]`, "[N 1+K]"}},
		"expected counts":  {func(g *Graph) *Node { return NCE(g.Input("s", 3), g.Input("e", 2)) }, []string{`nce "nce_0"`, `"s" [N 3]`, `"e" [N 2]`}},
		"candidates' type": {func(g *Graph) *Node { return SampledSoftmax(g.Input("s", 3), g.Input("e", 3), g.Input("c", 3)) }, []string{`sampled_softmax "sampled_softmax_0"`, `"c" [N 3]`, "int64"}},
		"candidates":       {func(g *Graph) *Node { return SampledSoftmax(g.Input("s", 3), g.Input("e", 3), g.IDs("c", 2)) }, []string{"sampled_softmax", `"s" [N 3]`, `"c" [N 2]`}},
		"a table's feed": {func(g *Graph) *Node {
			g.Input("origin", 1)
			return Embedding(g.IDs("ids", 1), EmbeddingOptions{Name: "origin", Dim: 2})
		}, []string{"table", `the name is taken by input "origin"`}},
		"no thresholds":   {func(g *Graph) *Node { return AUCOf(g.Input("p", 1), g.Input("y", 1), 0) }, []string{"auc", "0 thresholds"}},
		"binary accuracy": {func(g *Graph) *Node { return BinaryAccuracy(g.Input("p", 3), g.Input("y", 1)) }, []string{`binary_accuracy "binary_accuracy_0"`, `"p" [N 3]`, `"y" [N 1]`}},
		"no steps":        {func(g *Graph) *Node { return SlidingAUC(g.Input("p", 1), g.Input("y", 1), 0) }, []string{"sliding_auc", "0 steps"}},
		"precision":       {func(g *Graph) *Node { return Precision(g.Input("p", 3), g.Input("y", 1)) }, []string{`precision "precision_0"`, `"p" [N 3]`, `"y" [N 1]`}},
		"recall":          {func(g *Graph) *Node { return Recall(g.Input("p", 1), g.Input("y", 2)) }, []string{`recall "recall_0"`, `"p" [N 1]`, `"y" [N 2]`}},
		"cosine":          {func(g *Graph) *Node { return CosineSimilarity(g.Input("a", 3), g.Input("b", 4)) }, []string{`"cosine_similarity_0"`, `"a" [N 3]`, `"b" [N 4]`}},
		"conv rank":       {func(g *Graph) *Node { return Conv2D(g.Input("x", 3), 2, ConvOptions{Kernel: 3}) }, []string{"conv2d", `"x" [N 3]`, "[N C H W]"}},
		"conv filter": {func(g *Graph) *Node {
			return apply("", conv2d{window: window{3, 1, 1}}, g.Input("x", 2, 5, 5), g.Parameter(ParameterOptions{Name: "w"}, 4, 3, 3, 3))
		}, []string{`conv2d "conv2d_0"`, `"x" [N 2 5 5]`, `"w" [4 3 3 3]`}},
		"pool size": {func(g *Graph) *Node { return MaxPool2D(g.Input("x", 2, 3, 3), PoolOptions{Kernel: 4}) }, []string{`"max_pool2d_0"`, `"x" [N 2 3 3]`, "kernel of 4"}},
		"batch norm": {func(g *Graph) *Node {
			p := g.Parameter(ParameterOptions{Name: "s"}, 4)
			return apply("", batchNorm{1e-5, 0.9, false}, g.Input("x", 3), p, p, p, p)
		}, []string{`batch_norm "batch_norm_0"`, `"x" [N 3]`, `"s" [4]`}},
		"epsilon":       {func(g *Graph) *Node { return LayerNorm(g.Input("x", 3), NormOptions{Epsilon: -1}) }, []string{`layer_norm "layer_norm_0"`, "epsilon is -1"}},
		"momentum":      {func(g *Graph) *Node { return BatchNorm(g.Input("x", 3), NormOptions{Momentum: 2}) }, []string{`batch_norm "batch_norm_0"`, "momentum is 2"}},
		"delta":         {func(g *Graph) *Node { return SmoothL1(g.Input("a", 3), g.Input("b", 3), 0) }, []string{`smooth_l1 "smooth_l1_0"`, "delta is 0"}},
		"square error":  {func(g *Graph) *Node { return SquareError(g.Input("a", 3), g.Input("b", 4)) }, []string{`"square_error_0"`, `"a" [N 3]`, `"b" [N 4]`}},
		"logits":        {func(g *Graph) *Node { return SoftmaxWithCrossEntropy(g.Input("x", 3), g.IDs("y", 2)) }, []string{`"softmax_with_cross_entropy_0"`, `"x" [N 3]`, `"y" [N 2]`}},
		"bce":           {func(g *Graph) *Node { return BinaryCrossEntropy(g.Input("x", 1), g.Input("y", 2)) }, []string{`"binary_cross_entropy_0"`, `"x" [N 1]`, `"y" [N 2]`}},
		"bce of logits": {func(g *Graph) *Node { return BinaryCrossEntropyWithLogits(g.Input("x", 1), g.Input("y", 2)) }, []string{`"x" [N 1]`, `"y" [N 2]`}},
		"no pool":       {func(g *Graph) *Node { return EmbeddingPool(g.Slot("s"), "median", EmbeddingOptions{Height: 3, Dim: 2}) }, []string{"embedding_pool", `"median"`}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewGraph(1)
			n := Mean(test.build(g)) // what is built on a mistake stays silent
			err := g.Err()
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range append(test.want, "nn: ") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			if _, err2 := NewExecutor(g).Eval(t.Context(), nil, n); err2 != err {
				t.Errorf("Eval says %v", err2)
			}
		})
	}
}

func TestMistakesFirstOneStays(t *testing.T) {
	g := NewGraph(1)
	Add(g.Input("a", 3), g.Input("b", 2))
	first := g.Err()
	Add(g.Input("c", 3), g.Input("d", 2))
	if g.Err() != first || !strings.Contains(first.Error(), `"a"`) {
		t.Errorf("the error is %v, after %v", g.Err(), first)
	}
}

func TestNilEverywhere(t *testing.T) {
	for name, n := range map[string]*Node{
		"linear": Linear(nil, 3, LinearOptions{Act: ReLU}), "embedding": Embedding(nil, EmbeddingOptions{}),
		"mean": Mean(nil), "auc": AUC(nil, nil), "concat": Concat(), "cross entropy": CrossEntropy(nil, nil),
	} {
		if n.Err() == nil {
			t.Errorf("%s of nil has no error", name)
		}
	}
}

func TestNames(t *testing.T) {
	g := NewGraph(1)
	x, ids := g.Input("x", 3), g.IDs("ids", 2)
	h := Linear(x, 4, LinearOptions{Act: ReLU})
	h = Linear(Concat(h, Embedding(ids, EmbeddingOptions{Height: 5, Dim: 2})), 4, LinearOptions{Name: "fc1"})
	h = Linear(h, 2, LinearOptions{NoBias: true})
	loss := Mean(h)
	var names []string
	for _, p := range loss.Params() {
		names = append(names, p.Name)
	}
	want := "fc_0.w_0 fc_0.b_0 embedding_0.w_0 fc1.w_0 fc1.b_0 fc_1.w_0"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("params are %s, want %s", got, want)
	}
	if g.Node("fc1") == nil || g.Node("mean_0") != loss || g.Node("nobody") != nil {
		t.Error("nodes are not found by their names")
	}
	loss.Named("loss")
	if g.Node("loss") != loss || g.Node("mean_0") != nil || loss.Name() != "loss" {
		t.Error("a named node keeps its old name")
	}
}

// TestParamsReached wants only what the loss depends on, and one param for a table that is looked up twice.
func TestParamsReached(t *testing.T) {
	g := NewGraph(1)
	table := EmbeddingOptions{Name: "t", Height: 5, Dim: 2}
	a := Embedding(g.IDs("a", 1), table)
	Linear(a, 7, LinearOptions{Name: "unused"})
	loss := Mean(Add(a, Embedding(g.IDs("b", 1), table)))
	if p := loss.Params(); len(p) != 1 || p[0].Name != "t" || !p[0].Embedding {
		t.Errorf("params are %v", p)
	}
	if len(g.Params()) != 3 {
		t.Errorf("the graph has %d params", len(g.Params()))
	}
}

// TestInitialValues: they depend on seed and name alone, and a parameter holds them from the start.
func TestInitialValues(t *testing.T) {
	make := func(seed uint64, before bool) []float32 {
		g := NewGraph(seed)
		if before {
			g.Parameter(ParameterOptions{}, 3)
		}
		Linear(g.Input("x", 30), 20, LinearOptions{Name: "fc", Init: optimizer.Normal{Std: 1}})
		return g.Node("fc.w_0").op.(variable).param.W
	}
	if err := near(make(1, false), make(1, true), 0, 0); err != nil {
		t.Errorf("another parameter before it changes values: %v", err)
	}
	if near(make(1, false), make(2, false), 0, 0) == nil {
		t.Error("another seed gives the same values")
	}
}

func TestBindRefuses(t *testing.T) {
	tests := map[string]func(g *Graph) *Node{
		"take its Mean":            func(g *Graph) *Node { return Linear(g.Input("x", 3), 1, LinearOptions{}) },
		"no parameter":             func(g *Graph) *Node { return Mean(g.Input("x", 3)) },
		"no parameter that can be": func(g *Graph) *Node { return Mean(g.Parameter(ParameterOptions{Frozen: true}, 3)) },
		"shapes differ: ":          func(g *Graph) *Node { return Mean(Add(g.Input("x", 3), g.Input("y", 4))) },
	}
	for want, build := range tests {
		g := NewGraph(1)
		loss := build(g)
		loss.Bind(newKeeper(t, 1))
		if err := loss.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}
