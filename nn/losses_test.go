package nn

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/optimizer"
	"gorgonia.org/tensor"
)

// TestWeightsOfNothing: examples of weight 0 do not count, whatever their loss is, and where all weigh nothing the mean
// is 0 and trains nothing.
//
// Promise: [G2] examples of weight 0 and labels to ignore change no loss; what mixes the rows of a batch is joined
// with no call
// Also: TestIgnoredLabels, TestInBatchSoftmaxMixes
func TestWeightsOfNothing(t *testing.T) {
	g := NewGraph(1)
	x, weight := g.Input("x", 1), g.Input("weight", 1)
	loss := WeightedMean(Linear(x, 1, LinearOptions{Name: "fc", NoBias: true}), weight)
	k := minimise(t, loss, 0)
	e := NewExecutor(g)
	w := k.dense["fc.w_0"]
	if w == nil {
		must(t, e, batchOf{"x": floats([]int{1, 1}, 1), "weight": floats([]int{1, 1}, 1)})
		w = k.dense["fc.w_0"]
	}
	for _, c := range []struct{ x, weights []float32 }{
		{[]float32{3, 5}, []float32{0, 0}},
		{[]float32{3, float32(math.Inf(1))}, []float32{2, 0}},
		{[]float32{1, 4}, []float32{1, 3}},
	} {
		got := must(t, e, batchOf{"x": floats([]int{2, 1}, c.x...), "weight": floats([]int{2, 1}, c.weights...)}, loss)[0].Float32s()[0]
		sum, want := c.weights[0]+c.weights[1], float32(0)
		for i, x := range c.x {
			if c.weights[i] > 0 {
				want += c.weights[i] * x / sum
			}
		}
		if math.Abs(float64(got-want*w[0])) > 1e-6 {
			t.Errorf("%v: %v, want %v", c, got, want*w[0])
		}
		if c.weights[0] == 0 && k.gradient("fc.w_0", 1)[0] != 0 {
			t.Errorf("%v: gradient %v", c, k.gradient("fc.w_0", 1))
		}
	}
	_, err := e.Train(t.Context(), batchOf{"x": floats([]int{2, 1}, 1, 2), "weight": floats([]int{2, 1}, 1, -2)})
	if err == nil || !strings.Contains(err.Error(), `feed "weight"`) || !strings.Contains(err.Error(), "row 1, column 0: -2 is no weight") {
		t.Errorf("a negative weight: %v", err)
	}
}

// TestPredictionBehindWeights: a weighted loss tells what it compares with labels as its mean does.
func TestPredictionBehindWeights(t *testing.T) {
	g := NewGraph(1)
	label := g.Input("label", 1)
	pred := Linear(g.Input("x", 2), 1, LinearOptions{Act: Sigmoid})
	loss := WeightedMean(LogLoss(pred, label), ClassWeights(label, ClassWeightOptions{Weights: []float32{1, 4}}))
	if loss.Prediction() != pred {
		t.Errorf("it compares %v, want %v", loss.Prediction(), pred)
	}
}

// TestIgnoredLabels: labels to ignore may be outside of the classes, others may not.
func TestIgnoredLabels(t *testing.T) {
	g := NewGraph(1)
	x, label := Linear(g.Input("x", 2), 3, LinearOptions{}), g.IDs("label", 1)
	each := SoftmaxWithCrossEntropyOf(x, label, CrossEntropyOptions{Ignore: new(int64(-100))})
	minimise(t, WeightedMean(each, ClassWeights(label, ClassWeightOptions{Ignore: new(int64(-100))})), 0.1)
	e := NewExecutor(g)
	feed := batchOf{"x": floats([]int{3, 2}, 1, 2, 3, 4, 5, 6), "label": int64sOf([]int{3, 1}, 2, -100, 0)}
	out := must(t, e, feed, each, g.objective)
	losses, mean := out[0].Float32s(), out[1].Float32s()[0]
	if losses[1] != 0 || losses[0] == 0 || math.Abs(float64(mean-(losses[0]+losses[2])/2)) > 1e-6 {
		t.Errorf("losses %v, mean %v", losses, mean)
	}
	for _, label := range []int64{-1, 3} {
		feed["label"] = int64sOf([]int{3, 1}, 2, label, 0)
		if _, err := e.Train(t.Context(), feed); err == nil || !strings.Contains(err.Error(), "row 1") {
			t.Errorf("label %d: %v", label, err)
		}
	}
}

// TestInBatchSoftmaxMixes: an output that depends on the other rows of a batch can't be frozen, and ids that are looked up
// and compared may be uint64.
//
// Promise: [G13] what mixes the rows of a batch is not scored in joined calls
// Also: TestEveryOpIsOfItsRow
func TestInBatchSoftmaxMixes(t *testing.T) {
	g := NewGraph(1)
	ids := g.IDs("item", 1)
	user := Linear(g.Input("x", 2), 3, LinearOptions{})
	item := Embedding(ids, EmbeddingOptions{Name: "items", Dim: 3})
	loss := InBatchSoftmax(user, item, InBatchOptions{IDs: ids})
	for _, n := range []*Node{loss, Subtract(loss, Mean(loss))} {
		if _, err := Inference(user, n).Freeze(); err == nil || !strings.Contains(err.Error(), "depend on the rows beside it") {
			t.Errorf("%v: %v", n, err)
		}
	}
	if _, err := Inference(user).Freeze(); err != nil {
		t.Error(err)
	}
	minimise(t, Mean(loss), 0.1)
	e := NewExecutor(g)
	x := floats([]int{3, 2}, 1, 2, 3, 4, 5, 6)
	narrow := must(t, e, batchOf{"x": x, "item": int64sOf([]int{3, 1}, 7, 8, 7)}, loss)[0].Float32s()
	if narrow[0] == 0 || narrow[1] == 0 {
		t.Errorf("losses %v", narrow)
	}
	wide := tensor.New(tensor.WithShape(3, 1), tensor.WithBacking([]uint64{1<<64 - 7, 8, 1<<64 - 7}))
	if _, err := e.Train(t.Context(), batchOf{"x": x, "item": wide}); err != nil {
		t.Error(err)
	}
}

// TestFrequencies: what is drawn by known frequencies is estimated as they are, also after they have changed, and what
// is marshalled goes on.
func TestFrequencies(t *testing.T) {
	f, err := NewFrequencies(1000, 0.005)
	law.Check(t, err)
	sampler, err := NewUnigramSampler([]int64{300, 100, 30, 10, 3}, 1)
	law.Check(t, err)
	r, ids, logq := rand.New(rand.NewPCG(1, 2)), make([]int64, 4), make([]float32, 4)
	run := func(f *Frequencies, shift int64) map[int64]float64 {
		sums, n := map[int64]float64{}, map[int64]float64{}
		for step := range 60000 {
			for i := range ids {
				ids[i] = (sampler.Draw(r) + shift) % 5
			}
			f.LogQ(ids, logq)
			for i, id := range ids {
				if step > 30000 {
					sums[id], n[id] = sums[id]+float64(logq[i]), n[id]+1
				}
			}
		}
		for id := range sums {
			sums[id] /= n[id]
		}
		return sums
	}
	check := func(f *Frequencies, shift int64) {
		t.Helper()
		for id, got := range run(f, shift) {
			want := math.Log(4 * sampler.Probability((id-shift+5)%5))
			if math.Abs(got-want) > 0.15 {
				t.Errorf("item %d: ln q %.3f, want %.3f", id, got, want)
			}
		}
	}
	check(f, 0)
	check(f, 2)
	state, err := f.MarshalBinary()
	law.Check(t, err)
	var again Frequencies
	law.Check(t, again.UnmarshalBinary(state))
	other := make([]float32, 4)
	f.LogQ(ids, logq)
	again.LogQ(ids, other)
	if err := near(other, logq, 0, 0); err != nil {
		t.Error(err)
	}
	for _, bad := range [][]byte{nil, state[:len(state)-1], state[:32]} {
		if err := again.UnmarshalBinary(bad); err == nil {
			t.Errorf("%d bytes are taken", len(bad))
		}
	}
	if _, err := NewFrequencies(0, 0.1); err == nil {
		t.Error("0 buckets")
	}
	if _, err := NewFrequencies(1, 0); err == nil {
		t.Error("rate 0")
	}
}

// TestWeightOfNoStep: what the last step did not compute weighs nothing.
func TestWeightOfNoStep(t *testing.T) {
	g := NewGraph(1)
	x, w := g.Input("x", 1), g.Input("w", 1)
	mean, other := WeightedMean(x, w), Mean(x)
	e := NewExecutor(g)
	if got := e.Weight(mean); got != 0 {
		t.Errorf("before any step: %v", got)
	}
	feed := batchOf{"x": floats([]int{2, 1}, 1, 2), "w": floats([]int{2, 1}, 3, 4)}
	for _, c := range []struct {
		fetch *Node
		want  float64
	}{{mean, 7}, {other, 0}, {mean, 7}} {
		if _, err := e.Eval(t.Context(), feed, c.fetch); err != nil {
			t.Fatal(err)
		}
		if got, all := e.Weight(mean), e.Weight(other); got != c.want || all != 2 {
			t.Errorf("behind an Eval of %v: %v, want %v; a mean of all %v", c.fetch, got, c.want, all)
		}
	}
	w0 := g.Parameter(ParameterOptions{Name: "w0"}, 1)
	loss := WeightedMean(Multiply(x, w0), w)
	loss.Bind(&refusing{})
	if _, err := e.Train(t.Context(), feed, mean); err == nil || e.Weight(mean) != 0 {
		t.Errorf("behind a step whose gradients were refused (%v): %v", err, e.Weight(mean))
	}
}

// refusing is a trainer that takes no gradients.
type refusing struct{ still }

func (r *refusing) Open([]*optimizer.Param) (optimizer.Session, error) { return r, nil }
func (refusing) End(context.Context, *optimizer.Step) error {
	return errors.New("gradients are refused")
}
