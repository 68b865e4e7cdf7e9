package nn

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
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

// goldenFiles have golden numbers of ops: more_ops.json has what ops.json leaves out, and torch_ops.json what PyTorch computed.
var goldenFiles = []string{"ops.json", "more_ops.json", "torch_ops.json"}

// readGolden reads a file of numbers that PaddlePaddle or PyTorch computed, from GOLDEN_DIR when it is set and has the file.
func readGolden(t *testing.T, name string, v any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(goldenDir(), name))
	if (strings.HasPrefix(name, "more_") || strings.HasPrefix(name, "torch_")) && errors.Is(err, fs.ErrNotExist) {
		data, err = os.ReadFile(filepath.Join("testdata", name))
	}
	law.Check(t, err)
	law.Check(t, json.Unmarshal(data, v))
}

// goldenCase is one op: its value, and the gradients of the sum of value × weight.
type goldenCase struct {
	Name   string
	Attrs  map[string]any
	Inputs []goldenArray
	Out    goldenArray
	Weight []float32
	Grads  [][]float32
	// Params are the values of parameters by name, which have no golden gradients.
	Params map[string][]float32

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
	padding, _ := c.Attrs["padding"].(float64)
	return PoolOptions{Kernel: int(c.attr("kernel")), Stride: int(c.attr("stride")), Padding: int(padding)}
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
		return apply("", layerNorm{Epsilon: c.attr32("epsilon")}, c.batched(0), c.fixed(1), c.fixed(2))
	},
	"cosine_similarity": both(CosineSimilarity),
	"batch_norm_train": func(c *goldenCase) *Node {
		mean := c.g.Parameter(ParameterOptions{Init: optimizer.Constant{}, Frozen: true}, c.Inputs[1].Shape[0])
		return apply("", batchNorm{c.attr32("epsilon"), 0.9, false}, c.batched(0), c.fixed(1), c.fixed(2), mean, mean)
	},
	"conv2d": func(c *goldenCase) *Node {
		in := []*Node{c.batched(0), c.fixed(1)}
		if len(c.Inputs) > 2 {
			in = append(in, c.fixed(2))
		}
		return apply("", conv2d{window: window{c.Inputs[1].Shape[2], int(c.attr("stride")), int(c.attr("padding"))}}, in...)
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
	"subtract":          both(Subtract), "dot": both(Dot),
	"scale":         func(c *goldenCase) *Node { return Scale(c.batched(0), c.attr32("scale"), c.attr32("bias")) },
	"reshape":       unary(func(x *Node) *Node { return Reshape(x, 2, 2) }),
	"sequence_pool": (*goldenCase).pooled,
}

// pooled pools a slot; the case names the lengths of its examples.
func (c *goldenCase) pooled() *Node {
	offsets := []int64{0}
	for _, n := range c.Attrs["lengths"].([]any) {
		offsets = append(offsets, offsets[len(offsets)-1]+int64(n.(float64)))
	}
	c.ids(0) // the feed; its node is not used
	c.feed["slot"], c.feed["slot.offsets"] = c.feed["in0"], int64sOf([]int{len(offsets)}, offsets...)
	pool := map[any]Pool{"sum": PoolSum, "max": PoolMax, "average": PoolMean, "sqrt": PoolSqrtN}[c.Attrs["pool"]]
	in := c.Inputs[1]
	return EmbeddingPool(c.g.Slot("slot"), pool, EmbeddingOptions{Name: "in1", Height: in.Shape[0], Dim: in.Shape[1], Init: optimizer.Assign(in.Data)})
}

// TestGoldenOps: more_ops.json has what ops.json leaves out: other ops, strides and padding, arguments far from zero. (Logits there
// are less than 64 apart: the original takes those further below the largest for 64 below.)
func TestGoldenOps(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range goldenFiles {
		var file struct{ Cases []goldenCase }
		readGolden(t, name, &file)
		for _, c := range file.Cases {
			seen[c.Name] = true
			t.Run(c.Name, func(t *testing.T) {
				if goldenOps[c.Name] == nil {
					t.Fatal("there is no such op here")
				}
				c.check(t)
			})
		}
	}
	for name := range goldenOps {
		if !seen[name] {
			t.Errorf("no file has a case %q", name)
		}
	}
}

// ownTwins are the ops that the original computes otherwise, at random, without a gradient, or not at all: TestOpsSitTheExam holds them to their
// formulas, TestDropout to its distribution.
var ownTwins = []string{"nce", "sampled_softmax", "dropout", "cast", "detach", "sequence_mask", "custom", "group_pairs"}

// TestGoldenOpsAreAll: every op that computes with gradients has golden numbers, or a twin for the reason that ownTwins gives.
func TestGoldenOpsAreAll(t *testing.T) {
	seen := map[string]bool{"input": true}
	for _, name := range goldenFiles {
		var file struct{ Cases []goldenCase }
		readGolden(t, name, &file)
		for _, c := range file.Cases {
			c.g, c.feed = NewGraph(1), batchOf{}
			goldenOps[c.Name](&c)
			for _, n := range c.g.nodes {
				seen[n.op.kind()] = true
			}
		}
	}
	for kind, r := range recipes {
		o, _ := r.make(attributesOf(kind))
		if _, counts := o.(metric); !counts && !seen[kind] && !slices.Contains(ownTwins, kind) {
			t.Errorf("op %q has no golden numbers", kind)
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
		if !slices.Contains([]string{"ops.json", "metrics.json", "curves.json", "optimizers.json", "schedules.json",
			"more_ops.json", "torch_ops.json", "more_optimizers.json", "more_schedules.json", "more_curves.json"}, filepath.Base(file)) {
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
	for name, values := range c.Params {
		n := c.g.Node(name)
		if n == nil || len(values) != product(n.shape) {
			t.Fatalf("the case has %d values for %q, there is %v", len(values), name, n)
		}
		n.op.(variable).param.Init = optimizer.Assign(values)
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
