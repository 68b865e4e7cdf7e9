package local_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/local"
	"gorgonia.org/tensor"
)

// curve is the loss of twenty steps that PaddlePaddle computed, with some of the weights after them.
type curve struct {
	Net, Optimizer string
	Lazy           *bool   `json:"lazy_mode"`
	LR             float64 `json:"learning_rate"`
	Batch          int
	Loss           []float32
	After          struct {
		EmbRow0   []float32 `json:"emb_row_0"`
		EmbAbsSum float64   `json:"emb_abs_sum"`
		OutWHead  []float32 `json:"out_w_head"`
	}
}

func (c curve) lazy() bool { return c.Lazy == nil || *c.Lazy }

func (c curve) rule() optimizer.Rule {
	switch c.Optimizer {
	case "adam":
		return optimizer.Adam{LR: c.LR, Dense: !c.lazy()}
	case "adagrad":
		return optimizer.Adagrad{LR: c.LR}
	case "sgd":
		return optimizer.SGD{LR: c.LR}
	}
	return nil
}

// values is the generator of the golden inputs: n values in [lo, hi) by integer arithmetic alone.
func values(seed uint32, n int, lo, hi float64) []float32 {
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
	for i, x := range values(seed, n, 0, 1) {
		v[i] = int64(math.Floor(float64(x) * float64(below)))
	}
	return v
}

// weights are the k-th of a golden net.
func (n nudge) weights(base uint32, k, in, out int) optimizer.Initializer {
	a := 1 / math.Sqrt(float64(in))
	return optimizer.Assign(n.move(values(base+uint32(k), in*out, -a, a)))
}

// nudge moves weights up or down by a part of theirs that is as small as what rounding does to them.
type nudge struct {
	size float32
	seed uint32
}

func (n nudge) move(w []float32) []float32 {
	for i, up := range values(n.seed, len(w), -1, 1) {
		w[i] *= 1 + float32(math.Copysign(float64(n.size), float64(up)))
	}
	return w
}

type batch = map[string]*tensor.Dense

func floats(v []float32, shape ...int) *tensor.Dense {
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(v))
}

func ints(v []int64, shape ...int) *tensor.Dense {
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(v))
}

func mnistNet(base uint32, by nudge) *nn.Node {
	g := nn.NewGraph(0)
	h := g.Input("img", 784)
	for i, n := range [][2]int{{784, 128}, {128, 128}, {128, 10}} {
		act := nn.Tanh
		if i == 2 {
			act = nn.Softmax
		}
		h = nn.Linear(h, n[1], nn.LinearOptions{Act: act, Init: by.weights(base, i, n[0], n[1])})
	}
	return nn.Mean(nn.CrossEntropy(h, g.IDs("label", 1)))
}

func mnistBatch(base, step uint32, n int) batch {
	return batch{
		"img":   floats(values(base+100+step, n*784, 0, 1), n, 784),
		"label": ints(integers(base+200+step, n, 10), n, 1),
	}
}

func wideDeepNet(base uint32, by nudge) *nn.Node {
	g := nn.NewGraph(0)
	dense := g.Input("dense", 13)
	table := optimizer.Assign(values(base+50, 1000*10, -0.1, 0.1))
	emb := nn.Embedding(g.IDs("C", 26), nn.EmbeddingOptions{Name: "emb", Height: 1000, Dim: 10, Init: table})
	h := nn.Concat(emb, dense)
	for i, n := range [][2]int{{273, 400}, {400, 400}, {400, 400}, {400, 1}} {
		o := nn.LinearOptions{Init: by.weights(base, i, n[0], n[1])}
		if i < 3 {
			o.Act = nn.ReLU
		}
		h = nn.Linear(h, n[1], o)
	}
	wide := nn.Linear(dense, 1, nn.LinearOptions{Init: by.weights(base, 4, 13, 1)})
	return nn.Mean(nn.LogLoss(nn.Sigmoid(nn.Add(h, wide)), g.Input("label", 1)))
}

func wideDeepBatch(base, step uint32, n int) batch {
	label := make([]float32, n)
	for i, y := range integers(base+500+step, 20, 2)[:n] {
		label[i] = float32(y)
	}
	return batch{
		"dense": floats(values(base+300+step, 20*13, 0, 1)[:n*13], n, 13),
		"C":     ints(integers(base+400+step, 20*26, 1000)[:n*26], n, 26),
		"label": floats(label, n, 1),
	}
}

func TestGoldenCurves(t *testing.T) {
	law.Slow(t)
	dir := os.Getenv("GOLDEN_DIR")
	if dir == "" {
		dir = "testdata"
	}
	data, err := os.ReadFile(filepath.Join(dir, "curves.json"))
	check(t, err)
	var file struct {
		Base   uint32
		Curves []curve
	}
	check(t, json.Unmarshal(data, &file))
	if len(file.Curves) < 7 {
		t.Errorf("only %d curves were found", len(file.Curves))
	}
	for _, c := range file.Curves {
		name := fmt.Sprintf("%s/%s/lazy=%t/%d", c.Net, c.Optimizer, c.lazy(), c.Batch)
		t.Run(name, func(t *testing.T) { c.check(t, file.Base) })
	}
}

// check trains the curve's net and compares the losses, and of wide & deep the weights after.
func (c curve) check(t *testing.T, base uint32) {
	got, trainer := c.train(t, base, nudge{})
	for i, want := range c.Loss {
		off := math.Abs(float64(got[i] - want))
		if off <= 1e-4*math.Abs(float64(want)) {
			continue
		}
		if os.Getenv("GOLDEN_DIR") == "" {
			t.Fatalf("loss %d is %v, want %v", i, got[i], want) // no curve in testdata hangs on a rounding error
		}
		if moved := c.rounding(t, base, i, got[i]); moved > off/2 {
			t.Logf("loss %d is %v, want %v; the last bits of the first weights move it by %.1g: nothing to compare from here", i, got[i], want, moved)
			return
		}
		t.Fatalf("loss %d is %v, want %v", i, got[i], want)
	}
	if c.Net == "wide_deep" {
		c.checkWeights(t, trainer)
	}
}

// train is a training from weights that were nudged.
func (c curve) train(t *testing.T, base uint32, by nudge) (losses []float32, trainer *local.Trainer) {
	t.Helper()
	loss, next := mnistNet(base, by), mnistBatch
	if c.Net == "wide_deep" {
		loss, next = wideDeepNet(base, by), wideDeepBatch
	}
	if c.rule() == nil {
		t.Fatalf("there is no rule %q", c.Optimizer)
	}
	trainer, err := local.Minimize(loss, c.rule())
	check(t, err)
	exe := nn.NewExecutor(loss.Graph())
	defer exe.Close(context.Background())
	for i := range c.Loss {
		out, err := exe.Train(t.Context(), next(base, uint32(i), c.Batch), loss)
		check(t, err)
		losses = append(losses, out[0].Float32s()[0])
	}
	return losses, trainer
}

// rounding is how far trainings whose first weights differ in their last bits end up from a loss. Adagrad's first step is lr·sign(g),
// however small g is, and a unit of ReLU is on or off: where one of them hangs on a rounding error, two correct programs part.
func (c curve) rounding(t *testing.T, base uint32, step int, loss float32) (far float64) {
	t.Helper()
	for _, size := range []float32{6e-8, 3e-7, 1e-6} {
		for seed := range uint32(8) {
			losses, _ := c.train(t, base, nudge{size, seed})
			far = max(far, math.Abs(float64(losses[step]-loss)))
		}
	}
	return far
}

func (c curve) checkWeights(t *testing.T, trainer *local.Trainer) {
	row, err := trainer.Rows("emb", []uint64{0})
	check(t, err)
	near(t, "row 0 of the embedding", c.After.EmbRow0, row, 1e-4, 1e-6)
	out, err := trainer.Dense("fc_3.w_0")
	check(t, err)
	near(t, "output weights", c.After.OutWHead, out[:8], 1e-4, 1e-6)
	ids, sum := make([]uint64, 1000), 0.0
	for i := range ids {
		ids[i] = uint64(i)
	}
	all, err := trainer.Rows("emb", ids)
	check(t, err)
	for _, v := range all {
		sum += math.Abs(float64(v))
	}
	if d := math.Abs(sum - c.After.EmbAbsSum); d > 1e-6*c.After.EmbAbsSum {
		t.Errorf("the embedding's absolute sum is %v, want %v", sum, c.After.EmbAbsSum)
	}
}

func near(t *testing.T, what string, want, got []float32, relative, absolute float64) {
	t.Helper()
	for i := range want {
		d, limit := math.Abs(float64(got[i]-want[i])), relative*math.Abs(float64(want[i]))+absolute
		if !(d <= limit) {
			t.Fatalf("%s: number %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}
