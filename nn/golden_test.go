package nn

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

func goldenDir() string { return cmp.Or(os.Getenv("GOLDEN_DIR"), "testdata") }

// readGolden reads a file of numbers that PaddlePaddle computed, from GOLDEN_DIR when it is set.
func readGolden(t *testing.T, name string, v any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(goldenDir(), name))
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

	g       *Graph
	feed    batchOf
	missing []string // attributes that the case should have
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

// attr is an attribute of the case.
func (c *goldenCase) attr(name string) float64 {
	v, ok := c.Attrs[name].(float64)
	if !ok {
		c.missing = append(c.missing, name)
	}
	return v
}

func (c *goldenCase) attr32(name string) float32 { return float32(c.attr(name)) }

func (c *goldenCase) pool() PoolOptions {
	return PoolOptions{Kernel: int(c.attr("kernel")), Stride: int(c.attr("stride"))}
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
	"leaky_relu": func(c *goldenCase) *Node { return LeakyReLU(c.batched(0), c.attr32("negative_slope")) },
	"elu":        func(c *goldenCase) *Node { return ELU(c.batched(0), c.attr32("alpha")) },
	"gelu":       unary(GELU), "swish": unary(Swish), "softplus": unary(Softplus), "log_softmax": unary(LogSoftmax),
	"clip":     func(c *goldenCase) *Node { return Clip(c.batched(0), c.attr32("min"), c.attr32("max")) },
	"multiply": both(Multiply), "divide": both(Divide),
	"sum_axis1": unary(func(x *Node) *Node { return Sum(x, 1) }), "max_axis1": unary(func(x *Node) *Node { return Max(x, 1) }),
	"matmul":                     func(c *goldenCase) *Node { return MatMul(c.batched(0), c.fixed(1)) },
	"mse_loss":                   both(func(a, b *Node) *Node { return Mean(SquareError(a, b)) }),
	"l1_loss":                    both(func(a, b *Node) *Node { return Mean(AbsoluteError(a, b)) }),
	"smooth_l1_loss":             func(c *goldenCase) *Node { return Mean(SmoothL1(c.batched(0), c.batched(1), c.attr32("delta"))) },
	"binary_cross_entropy":       func(c *goldenCase) *Node { return Mean(BinaryCrossEntropy(c.batched(0), c.fed(1))) },
	"bce_with_logits":            func(c *goldenCase) *Node { return Mean(BinaryCrossEntropyWithLogits(c.batched(0), c.fed(1))) },
	"softmax_with_cross_entropy": func(c *goldenCase) *Node { return SoftmaxWithCrossEntropy(c.batched(0), c.ids(1)) },
	"layer_norm": func(c *goldenCase) *Node {
		return apply("", layerNorm{c.attr32("epsilon")}, c.batched(0), c.fixed(1), c.fixed(2))
	},
	"cosine_similarity": both(CosineSimilarity),
	"batch_norm_train": func(c *goldenCase) *Node {
		mean := c.g.Parameter(ParameterOptions{Init: optimizer.Constant{}, Frozen: true}, 4)
		return apply("", batchNorm{c.attr32("epsilon"), 0.9}, c.batched(0), c.fixed(1), c.fixed(2), mean, mean)
	},
	"conv2d": func(c *goldenCase) *Node {
		return apply("", conv2d{window{c.Inputs[1].Shape[2], int(c.attr("stride")), int(c.attr("padding"))}}, c.batched(0), c.fixed(1))
	},
	"max_pool2d": func(c *goldenCase) *Node { return MaxPool2D(c.batched(0), c.pool()) },
	"avg_pool2d": func(c *goldenCase) *Node { return AvgPool2D(c.batched(0), c.pool()) },
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
	"embedding_padding": func(c *goldenCase) *Node { return c.table(c.ids(0), new(int64(c.attr("padding_idx")))) },
	"concat_axis1":      both(func(a, b *Node) *Node { return Concat(a, b) }),
}

func TestGoldenOps(t *testing.T) {
	var file struct{ Cases []goldenCase }
	readGolden(t, "ops.json", &file)
	seen := map[string]bool{}
	for _, c := range file.Cases {
		seen[c.Name] = true
		t.Run(c.Name, func(t *testing.T) {
			if goldenOps[c.Name] == nil {
				t.Fatal("there is no such op here")
			}
			c.check(t)
		})
	}
	for name := range goldenOps {
		if !seen[name] {
			t.Errorf("ops.json has no case %q", name)
		}
	}
}

// TestGoldenFiles: every file of golden numbers is one that some test reads. The rules and schedules are read in package optimizer,
// the curves of all rules in optimizer/local.
func TestGoldenFiles(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(goldenDir(), "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files in %s: %v", goldenDir(), err)
	}
	for _, file := range files {
		if !slices.Contains([]string{"ops.json", "metrics.json", "curves.json", "optimizers.json", "schedules.json"}, filepath.Base(file)) {
			t.Errorf("no test reads %s", file)
		}
	}
}

func (c *goldenCase) check(t *testing.T) {
	c.g, c.feed = NewGraph(1), batchOf{}
	out := goldenOps[c.Name](c)
	if len(c.missing) > 0 {
		t.Fatalf("the case has no attributes %q", c.missing)
	}
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

// goldenMetrics is metrics.json: four metrics of 4000 scores, and accuracies of 100 rows of logits. It names the generator's calls
// that gave the inputs: "u(1700, n, 0, 1)".
type goldenMetrics struct {
	N                 int
	Score, Label      string
	Positives         int
	AUC4095           float64 `json:"auc_4095"`
	AUC200            float64 `json:"auc_200"`
	Precision, Recall float64
	Accuracy          struct {
		Logits, Label string
		Top1, Top2    float64
	}
}

// seedOf is the first number in a call of the generator.
func seedOf(t *testing.T, call string) (seed uint32) {
	t.Helper()
	_, args, _ := strings.Cut(call, "(")
	if _, err := fmt.Sscanf(args, "%d,", &seed); err != nil {
		t.Fatalf("%q is no call of the generator: %v", call, err)
	}
	return seed
}

func TestGoldenMetrics(t *testing.T) {
	var file goldenMetrics
	readGolden(t, "metrics.json", &file)
	t.Run("binary", file.checkBinary)
	t.Run("accuracy", file.checkAccuracy)
}

// checkBinary feeds the scores in batches of a quarter, so that the metrics have to count over batches.
func (m goldenMetrics) checkBinary(t *testing.T) {
	score, chance := uniform(seedOf(t, m.Score), m.N, 0, 1), uniform(seedOf(t, m.Label), m.N, 0, 1)
	label, positives := make([]float32, m.N), 0
	for i, s := range score {
		if chance[i] < float32(math.Pow(float64(s), 1.5)) {
			label[i] = 1
			positives++
		}
	}
	if positives != m.Positives {
		t.Errorf("%d labels are positive, want %d", positives, m.Positives)
	}
	g := NewGraph(1)
	p, y := g.Input("score", 1), g.Input("label", 1)
	metrics := []*Node{AUC(p, y), AUCOf(p, y, 200), Precision(p, y), Recall(p, y)}
	e, part, got := NewExecutor(g), m.N/4, make([]float32, len(metrics))
	for at := 0; at+part <= m.N; at += part {
		out, err := e.Eval(t.Context(), batchOf{
			"score": floats([]int{part, 1}, score[at:at+part]...), "label": floats([]int{part, 1}, label[at:at+part]...)},
			metrics...)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			got[i] = out[i].Float32s()[0]
		}
	}
	want := []float32{float32(m.AUC4095), float32(m.AUC200), float32(m.Precision), float32(m.Recall)}
	if err := near(got, want, 0, 1e-6); err != nil {
		t.Errorf("AUC, AUC of 200 thresholds, precision and recall are %v, want %v: %v", got, want, err)
	}
}

func (m goldenMetrics) checkAccuracy(t *testing.T) {
	g := NewGraph(1)
	logits, class := g.Input("logits", 4), g.IDs("class", 1)
	out, err := NewExecutor(g).Eval(t.Context(), batchOf{
		"logits": floats([]int{100, 4}, uniform(seedOf(t, m.Accuracy.Logits), 400, -1, 1)...),
		"class":  int64sOf([]int{100, 1}, integers(seedOf(t, m.Accuracy.Label), 100, 4)...)},
		Accuracy(logits, class), TopK(logits, class, 2))
	if err != nil {
		t.Fatal(err)
	}
	got := []float32{out[0].Float32s()[0], out[1].Float32s()[0]}
	if err := near(got, []float32{float32(m.Accuracy.Top1), float32(m.Accuracy.Top2)}, 0, 1e-6); err != nil {
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
	seen := 0
	for _, c := range file.Curves {
		if c.Optimizer != "sgd" {
			continue // rules are the optimizer's to show: optimizer/local goes down all curves
		}
		seen++
		t.Run(fmt.Sprintf("%s/%d", c.Net, c.Batch), func(t *testing.T) { c.check(t, file.Base) })
	}
	if seen < 3 || len(file.Curves) < 7 {
		t.Errorf("%d curves, %d of them of SGD: there are more", len(file.Curves), seen)
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
