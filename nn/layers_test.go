package nn

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

func TestDropout(t *testing.T) {
	build := func(seed uint64) (*Graph, *Node, *Node) {
		g := NewGraph(seed)
		w := g.Parameter(ParameterOptions{Name: "w"}, 100, 100)
		return g, w, Dropout(w, 0.3)
	}
	g, w, y := build(1)
	loss := Mean(y)
	k := minimise(t, loss, 0)
	e := NewExecutor(g)
	first := slices.Clone(must(t, e, nil, y)[0].Float32s())
	zeros := 0
	for i, v := range first {
		x := w.op.(variable).param.W[i]
		if v == 0 {
			zeros++
		}
		if kept := x / (1 - float32(0.3)); v != 0 && math.Abs(float64(v-kept)) > 1e-6 {
			t.Fatalf("element %d is %v, want 0 or %v", i, v, kept)
		}
		if g := k.grads["w"][i]; (g == 0) != (v == 0) {
			t.Fatalf("element %d is %v and has gradient %v", i, v, g)
		}
	}
	if zeros < 2850 || zeros > 3150 { // of 10000; three deviations are 137
		t.Errorf("%d elements of 10000 were dropped", zeros)
	}
	if near(must(t, e, nil, y)[0].Float32s(), first, 0, 0) == nil {
		t.Error("the second step drops what the first did")
	}
	g2, _, y2 := build(1)
	minimise(t, Mean(y2), 0)
	if err := near(must(t, NewExecutor(g2), nil, y2)[0].Float32s(), first, 0, 0); err != nil {
		t.Errorf("another run with the same seed: %v", err)
	}
	out, err := e.Eval(t.Context(), nil, y, w)
	law.Check(t, err)
	if err := near(out[0].Float32s(), out[1].Float32s(), 0, 0); err != nil {
		t.Errorf("an evaluation drops: %v", err)
	}
}

// setting is a keeper that notes the values computed without gradients.
type setting struct {
	*keeper
	set  map[string][]float32
	fail error
}

func (s *setting) SetDense(name string, w []float32) error {
	s.set[name] = slices.Clone(w)
	return errors.Join(s.fail, s.keeper.SetDense(name, w))
}

// TestBatchNormMoves: averages move by their formula, evaluations use them, and the trainer is told.
func TestBatchNormMoves(t *testing.T) {
	g := NewGraph(1)
	y := BatchNorm(g.Input("x", 1), NormOptions{Name: "bn", Momentum: 0.8})
	loss := Mean(Multiply(y, y))
	k := &setting{keeper: newKeeper(t, 0), set: map[string][]float32{}}
	loss.Bind(k)
	e := NewExecutor(g)
	must(t, e, batchOf{"x": floats([]int{2, 1}, 1, 3)})       // mean 2, variance 1
	must(t, e, batchOf{"x": floats([]int{4, 1}, 0, 0, 8, 8)}) // mean 4, variance 16
	mean, variance := 0.8*(0.8*0+0.2*2)+0.2*4, 0.8*(0.8*1+0.2*1)+0.2*16
	out, err := e.Eval(t.Context(), batchOf{"x": floats([]int{1, 1}, 5)}, y, g.Node("bn.w_1"), g.Node("bn.w_2"))
	law.Check(t, err)
	got := []float32{out[0].Float32s()[0], out[1].Float32s()[0], out[2].Float32s()[0]}
	want := []float32{float32((5 - mean) / math.Sqrt(variance+1e-5)), float32(mean), float32(variance)}
	if err := near(got, want, 1e-6, 0); err != nil {
		t.Error(err)
	}
	if err := near(append(k.set["bn.w_1"], k.set["bn.w_2"]...), want[1:], 1e-6, 0); err != nil {
		t.Errorf("the trainer was told: %v", err)
	}
	clear(k.set)
	if err := e.Close(t.Context()); err != nil || len(k.set) != 0 {
		t.Errorf("Close: %v, and tells old news %v", err, k.set)
	}
}

// TestBatchNormTells after each step, and says when it can't.
func TestBatchNormTells(t *testing.T) {
	g := NewGraph(1)
	loss := Mean(BatchNorm(g.Input("x", 2), NormOptions{}))
	k := &setting{keeper: newKeeper(t, 0), set: map[string][]float32{}, fail: errors.New("server 1 is gone")}
	loss.Bind(k)
	e, feed := NewExecutor(g), batchOf{"x": floats([]int{2, 2}, 1, 2, 3, 4)}
	if _, err := e.TrainFrom(t.Context(), recycled([]batchOf{feed}), TrainOptions{}); !errors.Is(err, k.fail) || k.epochs != 0 {
		t.Errorf("got %v, %d epochs", err, k.epochs)
	}
	if err := e.Close(t.Context()); err != nil || k.closed != 1 {
		t.Errorf("got %v, %d sessions closed", err, k.closed)
	}
	k.fail = nil
	clear(k.set)
	must(t, e, feed)
	if k.set["batch_norm_0.w_1"] == nil || k.set["batch_norm_0.w_2"] == nil {
		t.Errorf("told %v", k.set)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestLeNet has every layer of a small convolutional network, and learns which half of an image is bright.
func TestLeNet(t *testing.T) {
	g := NewGraph(1)
	h := Conv2D(g.Input("img", 1, 8, 8), 4, ConvOptions{Kernel: 3, Padding: 1, Act: ReLU})
	h = MaxPool2D(h, PoolOptions{Kernel: 2})
	h = BatchNorm(Conv2D(h, 6, ConvOptions{Name: "second", Kernel: 3, NoBias: true}), NormOptions{})
	h = Dropout(LayerNorm(AvgPool2D(ReLU(h), PoolOptions{Kernel: 2, Stride: 1}), NormOptions{}), 0.1)
	logits, label := Linear(h, 2, LinearOptions{}), g.IDs("label", 1)
	loss, acc := Mean(SoftmaxWithCrossEntropy(logits, label)), Accuracy(logits, label)
	minimise(t, loss, 0.1)
	e := NewExecutor(g)
	for step := range 60 {
		must(t, e, halves(uint32(step)), loss)
	}
	out, err := e.Eval(t.Context(), halves(1000), acc)
	law.Check(t, err)
	if got := out[0].Float32s()[0]; got < 0.95 {
		t.Errorf("accuracy is %v", got)
	}
	for name, want := range map[string][]int{"conv2d_0.w_0": {4, 1, 3, 3}, "conv2d_0.b_0": {4}, "second.w_0": {6, 4, 3, 3},
		"layer_norm_0.w_0": {6}, "batch_norm_0.b_0": {6}, "batch_norm_0.w_2": {6}} {
		if n := g.Node(name); n == nil || !slices.Equal(n.Shape(), want) {
			t.Errorf("%s is %v, want %v", name, n, want)
		}
	}
}

// halves are 32 noisy images whose label says which half is bright.
func halves(seed uint32) batchOf {
	img, label := uniform(seed, 32*64, -1, 1), integers(seed+7, 32, 2)
	for i := range img {
		if int64(i%64/32) == label[i/64] {
			img[i]++
		}
	}
	return batchOf{"img": floats([]int{32, 1, 8, 8}, img...), "label": int64sOf([]int{32, 1}, label...)}
}
