package nn

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
)

// uniform is the generator of the golden inputs: n values in [lo, hi) by integer arithmetic alone.
func uniform(seed uint32, n int, lo, hi float64) []float32 {
	v := make([]float32, n)
	for i := range v {
		h := uint32(i)*2654435761 + seed*2246822519 + 374761393
		h = (h ^ h>>15) * 2246822519
		h = (h ^ h>>13) * 3266489917
		v[i] = float32(lo + (hi-lo)*(float64(h^h>>16)/(1<<32)))
	}
	return v
}

func integers(seed uint32, n, below int) []int64 {
	v := make([]int64, n)
	for i, x := range uniform(seed, n, 0, 1) {
		v[i] = int64(math.Floor(float64(x) * float64(below)))
	}
	return v
}

func TestGoldenGenerator(t *testing.T) {
	if err := near(uniform(1, 4, -1, 1), []float32{-0.10785918, -0.8260901, -0.28359735, -0.39973244}, 0, 0); err != nil {
		t.Error(err)
	}
	if got := fmt.Sprint(integers(1, 6, 10)); got != "[4 0 3 3 6 3]" {
		t.Errorf("integers(1, 6, 10) = %s", got)
	}
}

// readGolden reads a file of numbers that PaddlePaddle computed, from GOLDEN_DIR when it is set.
func readGolden(t *testing.T, name string, v any) {
	t.Helper()
	dir := os.Getenv("GOLDEN_DIR")
	if dir == "" {
		dir = "testdata"
	}
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}

// goldenCase is one op: its value, and the gradients of the sum of value × weight.
type goldenCase struct {
	Name   string
	Attrs  map[string]any
	Inputs []goldenArray
	Out    goldenArray
	Weight []float32
	Grads  [][]float32

	g    *Graph
	feed batchOf
}

type goldenArray struct {
	Shape []int
	Data  []float32
}

// batched is input i as a value of N examples that has a gradient: the rows of a table, all looked up.
func (c *goldenCase) batched(i int) *Node {
	in := c.Inputs[i]
	n, name := in.Shape[0], fmt.Sprintf("in%d", i)
	ids := make([]int64, n)
	for j := range ids {
		ids[j] = int64(j)
	}
	c.feed[name+".ids"] = int64sOf([]int{n}, ids...)
	dim := len(in.Data) / n
	x := Embedding(c.g.IDs(name+".ids"), EmbeddingOptions{Name: name, Height: n, Dim: dim, Init: optimizer.Assign(in.Data)})
	if len(in.Shape) > 2 {
		x = Reshape(x, in.Shape[1:]...)
	}
	return x
}

// fixed is input i as a parameter.
func (c *goldenCase) fixed(i int) *Node {
	in := c.Inputs[i]
	return c.g.Parameter(ParameterOptions{Name: fmt.Sprintf("in%d", i), Init: optimizer.Assign(in.Data)}, in.Shape...)
}

// fed is input i as a float32 feed, ids as an int64 feed.
func (c *goldenCase) fed(i int) *Node {
	name, in := fmt.Sprintf("in%d", i), c.Inputs[i]
	c.feed[name] = floats(in.Shape, in.Data...)
	return c.g.Input(name, in.Shape[1:]...)
}

func (c *goldenCase) ids(i int) *Node {
	name, in := fmt.Sprintf("in%d", i), c.Inputs[i]
	ids := make([]int64, len(in.Data))
	for j, v := range in.Data {
		ids[j] = int64(v)
	}
	c.feed[name] = int64sOf(in.Shape, ids...)
	return c.g.IDs(name, in.Shape[1:]...)
}

func (c *goldenCase) table(ids *Node, padding *int64) *Node {
	in := c.Inputs[1]
	return Embedding(ids, EmbeddingOptions{Name: "in1", Height: in.Shape[0], Dim: in.Shape[1], PaddingIdx: padding,
		Init: optimizer.Assign(in.Data)})
}

func unary(f func(*Node) *Node) func(*goldenCase) *Node {
	return func(c *goldenCase) *Node { return f(c.batched(0)) }
}

func both(f func(a, b *Node) *Node) func(*goldenCase) *Node {
	return func(c *goldenCase) *Node { return f(c.batched(0), c.batched(1)) }
}

// goldenOps says how each golden case is written here.
var goldenOps = map[string]func(*goldenCase) *Node{
	"relu":       unary(ReLU),
	"tanh":       unary(Tanh),
	"sigmoid":    unary(Sigmoid),
	"softmax":    unary(Softmax),
	"leaky_relu": unary(func(x *Node) *Node { return LeakyReLU(x, 0.01) }),
	"elu":        unary(func(x *Node) *Node { return ELU(x, 1) }),
	"gelu":       unary(GELU), "swish": unary(Swish), "softplus": unary(Softplus), "log_softmax": unary(LogSoftmax),
	"clip":     unary(func(x *Node) *Node { return Clip(x, -1, 1) }),
	"multiply": both(Multiply), "divide": both(Divide),
	"sum_axis1": unary(func(x *Node) *Node { return Sum(x, 1) }), "max_axis1": unary(func(x *Node) *Node { return Max(x, 1) }),
	"matmul":                     func(c *goldenCase) *Node { return MatMul(c.batched(0), c.fixed(1)) },
	"mse_loss":                   both(func(a, b *Node) *Node { return Mean(SquareError(a, b)) }),
	"l1_loss":                    both(func(a, b *Node) *Node { return Mean(AbsoluteError(a, b)) }),
	"smooth_l1_loss":             both(func(a, b *Node) *Node { return Mean(SmoothL1(a, b, 1)) }),
	"binary_cross_entropy":       func(c *goldenCase) *Node { return Mean(BinaryCrossEntropy(c.batched(0), c.fed(1))) },
	"bce_with_logits":            func(c *goldenCase) *Node { return Mean(BinaryCrossEntropyWithLogits(c.batched(0), c.fed(1))) },
	"softmax_with_cross_entropy": func(c *goldenCase) *Node { return SoftmaxWithCrossEntropy(c.batched(0), c.ids(1)) },
	"layer_norm": func(c *goldenCase) *Node {
		return apply("", layerNorm{1e-5}, c.batched(0), c.fixed(1), c.fixed(2))
	},
	"cosine_similarity": both(CosineSimilarity),
	"batch_norm_train": func(c *goldenCase) *Node {
		mean := c.g.Parameter(ParameterOptions{Init: optimizer.Constant{}, Frozen: true}, 4)
		return apply("", batchNorm{1e-5, 0.9}, c.batched(0), c.fixed(1), c.fixed(2), mean, mean)
	},
	"conv2d":     func(c *goldenCase) *Node { return apply("", conv2d{window{3, 1, 1}}, c.batched(0), c.fixed(1)) },
	"max_pool2d": unary(func(x *Node) *Node { return MaxPool2D(x, PoolOptions{Kernel: 2}) }),
	"avg_pool2d": unary(func(x *Node) *Node { return AvgPool2D(x, PoolOptions{Kernel: 2, Stride: 2}) }),
	"linear": func(c *goldenCase) *Node {
		return apply("", linear{}, c.batched(0), c.fixed(1), c.fixed(2))
	},
	"add":      func(c *goldenCase) *Node { return Add(c.batched(0), c.fixed(1)) },
	"mean":     unary(Mean),
	"log_loss": func(c *goldenCase) *Node { return LogLoss(c.batched(0), c.fed(1)) },
	"cross_entropy_of_softmax": func(c *goldenCase) *Node {
		return CrossEntropy(Softmax(c.batched(0)), c.ids(1))
	},
	"embedding":         func(c *goldenCase) *Node { return c.table(c.ids(0), nil) },
	"embedding_padding": func(c *goldenCase) *Node { return c.table(c.ids(0), new(int64(2))) },
	"concat_axis1":      both(func(a, b *Node) *Node { return Concat(a, b) }),
}

func TestGoldenOps(t *testing.T) {
	var file struct{ Cases []goldenCase }
	readGolden(t, "ops.json", &file)
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			if goldenOps[c.Name] == nil {
				t.Fatal("there is no such op here")
			}
			c.check(t)
		})
	}
}

func (c *goldenCase) check(t *testing.T) {
	c.g, c.feed = NewGraph(1), batchOf{}
	out := goldenOps[c.Name](c)
	loss := apply("", &weighed{weights: c.Weight}, out)
	k := minimise(t, loss, 0)
	got := must(t, NewExecutor(c.g), c.feed, out)[0]
	if err := near(got.Float32s(), c.Out.Data, 1e-5, 1e-6); err != nil {
		t.Errorf("value: %v", err)
	}
	for i, want := range c.Grads {
		if want == nil {
			continue
		}
		g := k.gradient(fmt.Sprintf("in%d", i), len(want))
		if err := near(g, want, 1e-5, 1e-6); err != nil {
			t.Errorf("gradient of input %d: %v", i, err)
		}
	}
}

// weighed is the sum of x × weights, a loss for any value.
type weighed struct{ weights []float32 }

func (*weighed) kind() string                    { return "weighed" }
func (*weighed) infer(in []*Node) ([]int, error) { return []int{1}, nil }

func (w *weighed) forward(c *cell) {
	c.value[0] = 0
	for i, x := range c.in[0].value {
		c.value[0] += x * w.weights[i]
	}
}

func (w *weighed) backward(c *cell) {
	if x := c.in[0]; x.wanted {
		for i, dx := 0, x.sum(); i < len(dx); i++ {
			dx[i] += c.grad[0] * w.weights[i]
		}
	}
}

func TestGoldenMetrics(t *testing.T) {
	var want struct {
		N        int
		AUC      float64 `json:"auc_4095"`
		Accuracy struct{ Top1, Top2 float64 }
	}
	readGolden(t, "metrics.json", &want)
	score, chance := uniform(1700, want.N, 0, 1), uniform(1701, want.N, 0, 1)
	label := make([]float32, want.N)
	for i, s := range score {
		if chance[i] < float32(math.Pow(float64(s), 1.5)) {
			label[i] = 1
		}
	}
	g := NewGraph(1)
	a := AUC(g.Input("score", 1), g.Input("label", 1))
	logits, class := g.Input("logits", 4), g.IDs("class", 1)
	top1, top2 := Accuracy(logits, class), TopK(logits, class, 2)
	e := NewExecutor(g)
	for at := 0; at < want.N; at += 1000 {
		out, err := e.Eval(t.Context(), batchOf{
			"score": floats([]int{1000, 1}, score[at:at+1000]...), "label": floats([]int{1000, 1}, label[at:at+1000]...)}, a)
		if err != nil {
			t.Fatal(err)
		}
		if got := float64(out[0].Float32s()[0]); at == 3000 && math.Abs(got-want.AUC) > 1e-6 {
			t.Errorf("AUC is %v, want %v", got, want.AUC)
		}
	}
	out, err := e.Eval(t.Context(), batchOf{"logits": floats([]int{100, 4}, uniform(1702, 400, -1, 1)...),
		"class": int64sOf([]int{100, 1}, integers(1703, 100, 4)...)}, top1, top2)
	if err != nil {
		t.Fatal(err)
	}
	got := []float32{out[0].Float32s()[0], out[1].Float32s()[0]}
	if err := near(got, []float32{float32(want.Accuracy.Top1), float32(want.Accuracy.Top2)}, 0, 1e-6); err != nil {
		t.Error(err)
	}
}

// curve is the loss of some steps of a net.
type curve struct {
	Net       string
	Optimizer string
	LR        float32 `json:"learning_rate"`
	Batch     int
	Loss      []float32
	After     struct {
		EmbRow0  []float32 `json:"emb_row_0"`
		OutWHead []float32 `json:"out_w_head"`
	}
}

// weights counts the golden nets' weight matrices, each initialised from its own number.
type weights struct{ base, made uint32 }

func (w *weights) linear(x *Node, size int, act func(*Node) *Node) *Node {
	in := x.perExample()
	a := 1 / math.Sqrt(float64(in))
	init := optimizer.Assign(uniform(w.base+w.made, in*size, -a, a))
	w.made++
	return Linear(x, size, LinearOptions{Init: init, Act: act})
}

func mnistNet(base uint32) *Node {
	g, w := NewGraph(1), &weights{base: base}
	h := Reshape(g.Input("img", 1, 28, 28), 784)
	h = w.linear(w.linear(h, 128, Tanh), 128, Tanh)
	return Mean(CrossEntropy(w.linear(h, 10, Softmax), g.IDs("label", 1)))
}

func wideDeepNet(base uint32) *Node {
	g, w := NewGraph(1), &weights{base: base}
	dense := g.Input("dense", 13)
	rows := optimizer.Assign(uniform(base+50, 1000*10, -0.1, 0.1))
	emb := Embedding(g.IDs("C", 26), EmbeddingOptions{Name: "emb", Height: 1000, Dim: 10, Init: rows})
	h := Concat(emb, dense)
	for range 3 {
		h = w.linear(h, 400, ReLU)
	}
	h = w.linear(h, 1, nil)
	return Mean(LogLoss(Sigmoid(Add(h, w.linear(dense, 1, nil))), g.Input("label", 1)))
}

func mnistBatch(base uint32, k uint32, _ int) batchOf {
	return batchOf{"img": floats([]int{64, 1, 28, 28}, uniform(base+100+k, 64*784, 0, 1)...),
		"label": int64sOf([]int{64, 1}, integers(base+200+k, 64, 10)...)}
}

func wideDeepBatch(base uint32, k uint32, n int) batchOf {
	label := make([]float32, n)
	for i, y := range integers(base+500+k, 20, 2)[:n] {
		label[i] = float32(y)
	}
	return batchOf{
		"dense": floats([]int{n, 13}, uniform(base+300+k, 20*13, 0, 1)[:n*13]...),
		"C":     int64sOf([]int{n, 26}, integers(base+400+k, 20*26, 1000)[:n*26]...),
		"label": floats([]int{n, 1}, label...),
	}
}

// TestGoldenCurves trains the nets of PaddlePaddle's curves by plain SGD.
func TestGoldenCurves(t *testing.T) {
	var file struct {
		Base   uint32
		Curves []curve
	}
	readGolden(t, "curves.json", &file)
	for _, c := range file.Curves {
		if c.Optimizer != "sgd" {
			continue // rules are the optimizer's to show
		}
		t.Run(fmt.Sprintf("%s/%d", c.Net, c.Batch), func(t *testing.T) { c.check(t, file.Base) })
	}
}

func (c curve) check(t *testing.T, base uint32) {
	loss, next := mnistNet(base), mnistBatch
	if c.Net == "wide_deep" {
		loss, next = wideDeepNet(base), wideDeepBatch
	}
	k := minimise(t, loss, c.LR)
	e, got := NewExecutor(loss.graph), []float32{}
	for i := range c.Loss {
		got = append(got, must(t, e, next(base, uint32(i), c.Batch), loss)[0].Float32s()[0])
	}
	if err := near(got, c.Loss, 1e-4, 0); err != nil {
		t.Errorf("loss: %v", err)
	}
	if c.Net != "wide_deep" {
		return
	}
	if err := near(k.rows["emb"][0], c.After.EmbRow0, 1e-4, 1e-6); err != nil {
		t.Errorf("row 0 of the embedding: %v", err)
	}
	if err := near(k.dense["fc_3.w_0"][:8], c.After.OutWHead, 1e-4, 1e-6); err != nil {
		t.Errorf("output weights: %v", err)
	}
}
