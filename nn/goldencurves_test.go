package nn

import (
	"fmt"
	"math"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/optimizer"
)

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
//
// Promise: [G2] PaddlePaddle's loss curves come out, in one process and by two workers
// Also: TestGoldenCurves (optimizer/local), TestGoldenCurvesInSync (fleet)
func TestGoldenCurves(t *testing.T) {
	law.Slow(t)
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
