package nntest_test

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/nntest"
	"github.com/gofleet/gofleet/nn/serve"
	"github.com/gofleet/gofleet/optimizer/weights"
	"gorgonia.org/tensor"
)

func init() {
	if err := errors.Join(nn.RegisterOp[*unit]("test.unit"), nn.RegisterOp[above]("test.above"),
		nn.RegisterOp[louder]("test.louder")); err != nil {
		panic(err)
	}
}

// unit is w/√(Σw²), of a parameter alone, and by a pointer.
type unit struct{ Least float32 }

func (u *unit) Shape(in [][]int) ([]int, error) { return in[0], nil }

func (u *unit) Forward(c *nn.OpCall) {
	length := u.length(c.In[0].Value)
	for i, v := range c.In[0].Value {
		c.Out.Value[i] = v / length
	}
}

func (u *unit) Backward(c *nn.OpCall) {
	length, along := u.length(c.In[0].Value), float32(0)
	for i, g := range c.Out.Grad {
		along += g * c.Out.Value[i]
	}
	for i := range c.In[0].Grad {
		c.In[0].Grad[i] += (c.Out.Grad[i] - along*c.Out.Value[i]) / length
	}
}

func (u *unit) length(w []float32) float32 {
	sum := u.Least
	for _, v := range w {
		sum += v * v
	}
	return float32(math.Sqrt(float64(sum)))
}

// TestOwnOpOfParameters: an op of parameters alone has no examples, and what comes of it is repeated to those of others.
func TestOwnOpOfParameters(t *testing.T) {
	nntest.Run(t, func(n int, dim func() int) nntest.Case {
		d := dim()
		return nntest.Case{
			Inputs: []nntest.Input{nntest.Values(n, d), nntest.Weights(d)},
			Build:  func(in []*nn.Node) *nn.Node { return nn.Multiply(in[0], nn.Custom(&unit{}, in[1])) },
			Twin: func(in [][]float64) []float64 {
				sum, y := 0.0, slices.Clone(in[0])
				for _, v := range in[1] {
					sum += v * v
				}
				for i := range y {
					y[i] *= in[1][i%d] / math.Sqrt(sum)
				}
				return y
			},
		}
	})
}

// above is x − the batch's mean of x, of x [N].
type above struct{}

func (above) OfBatch()                        {}
func (above) Shape(in [][]int) ([]int, error) { return in[0], nil }
func (above) Forward(c *nn.OpCall)            { centre(c.Out.Value, c.In[0].Value, false) }
func (above) Backward(c *nn.OpCall)           { centre(c.In[0].Grad, c.Out.Grad, true) }

func centre(dst, src []float32, add bool) {
	mean := 0.0
	for _, v := range src {
		mean += float64(v) / float64(len(src))
	}
	for i := range dst {
		if !add {
			dst[i] = 0
		}
		dst[i] += src[i] - float32(mean)
	}
}

// TestOwnOpOfBatches: an op that mixes examples is given all of a batch, however large, and no scorer takes it.
func TestOwnOpOfBatches(t *testing.T) {
	nntest.Run(t, func(n int, _ func() int) nntest.Case {
		return nntest.Case{
			Inputs: []nntest.Input{nntest.Values(n, 1)},
			Build:  func(in []*nn.Node) *nn.Node { return nn.Custom(above{}, nn.Reshape(in[0])) },
			Mixed:  true,
			Twin: func(in [][]float64) []float64 {
				mean, y := 0.0, slices.Clone(in[0])
				for _, v := range y {
					mean += v / float64(n)
				}
				for i := range y {
					y[i] -= mean
				}
				return y
			},
		}
	})

	g := nn.NewGraph(1)
	y := nn.Custom(above{}, g.Input("x", 1))
	x := make([]float32, 1<<17)
	x[0] = 1 << 17
	out, err := nn.NewExecutor(g).Eval(t.Context(), map[string]*tensor.Dense{"x": nn.Floats(x)}, y)
	law.Check(t, err)
	if last := out[0].Float32s()[1<<17-1]; last != -1 {
		t.Errorf("the last of a large batch is %v, 0 beside a mean of 1", last)
	}
	_, err = serve.NewScorer(loaded(t, y), serve.ScorerOptions{})
	wantWords(t, "a scorer", err, "custom_0", "all examples of a batch")
}

// louder is 2·x in training, and x in an evaluation.
type louder struct{}

func (louder) Shape(in [][]int) ([]int, error) { return in[0], nil }

func (louder) Forward(c *nn.OpCall) {
	by := float32(1)
	if c.Train {
		by = 2
	}
	for i, v := range c.In[0].Value {
		c.Out.Value[i] = by * v
	}
}

func (louder) Backward(c *nn.OpCall) {
	for i, g := range c.Out.Grad {
		c.In[0].Grad[i] += 2 * g
	}
}

// TestOwnOpInTraining: an op may compute something else in training.
func TestOwnOpInTraining(t *testing.T) {
	nntest.Run(t, func(n int, _ func() int) nntest.Case {
		return nntest.Case{
			Inputs:    []nntest.Input{nntest.Values(n, 2)},
			Build:     func(in []*nn.Node) *nn.Node { return nn.Custom(louder{}, in[0]) },
			TrainOnly: true,
			Twin: func(in [][]float64) []float64 {
				y := slices.Clone(in[0])
				for i := range y {
					y[i] *= 2
				}
				return y
			},
		}
	})
}

// TestOwnOpsThatCannotBeSaved: a program learns before it trains that a model can't be saved, and why one can't be loaded.
func TestOwnOpsThatCannotBeSaved(t *testing.T) {
	of := func(o nn.Op) error {
		g := nn.NewGraph(1)
		return nn.Inference(nn.Custom(o, g.Input("x"))).Err()
	}
	wantWords(t, "without a name", of(nameless{}), `custom "custom_0"`, "nn.RegisterOp[nntest_test.nameless]")
	wantWords(t, "with a field of its own", of(secretive{factor: 2}), "factor:2", "factor:0", "exported fields")
	wantWords(t, "a name of another", nn.RegisterOp[nameless]("test.above"), "test.above", "nntest_test.above", "take another")
	wantWords(t, "no name", nn.RegisterOp[nameless](""), "take another")
	for _, err := range []error{of(above{}), of(&unit{Least: 1}), nn.RegisterOp[above]("test.above")} {
		if err != nil {
			t.Error(err)
		}
	}

	g := nn.NewGraph(1)
	dir := saved(t, nn.Custom(&unit{Least: 0.25}, g.Input("x", 3)))
	path := filepath.Join(dir, "graph.json")
	graph, err := os.ReadFile(path)
	law.Check(t, err)
	law.Check(t, os.Remove(filepath.Join(dir, "model.json")))
	for was, is := range map[string]string{"test.unit": "test.away", "Least": "Most"} {
		text := strings.Replace(string(graph), was, is, 1)
		law.Check(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := serve.Load(dir)
		wantWords(t, was, err, is, `node "custom_0"`)
	}
}

// TestOwnOpIsScored: calls that are joined have the bits of an evaluation.
func TestOwnOpIsScored(t *testing.T) {
	g := nn.NewGraph(3)
	y := nn.Linear(nn.Custom(faulty{}, g.Input("x", 4), g.Parameter(nn.ParameterOptions{Name: "scale"}, 4)), 2,
		nn.LinearOptions{})
	m := loaded(t, y)
	s, err := serve.NewScorer(m, serve.ScorerOptions{Join: 64})
	law.Check(t, err)
	var calls sync.WaitGroup
	for call := range 8 {
		calls.Go(func() {
			x := make([]float32, 12)
			for i := range x {
				x[i] = float32(call*len(x)+i) / 50
			}
			feed := map[string]*tensor.Dense{"x": nn.Floats(x, 4)}
			want, err := nn.NewExecutor(m.Graph).Eval(t.Context(), feed, m.Outputs...)
			if err != nil {
				t.Error(err)
				return
			}
			for range 20 {
				if got, err := s.Score(t.Context(), feed); err != nil || !slices.Equal(got.Values[0], want[0].Float32s()) {
					t.Errorf("a call has %v, alone it is %v (%v)", got.Values, want, err)
				}
			}
		})
	}
	calls.Wait()
}

// saved is the directory of a model of the node, with first weights.
func saved(t *testing.T, out *nn.Node) string {
	t.Helper()
	from := weights.Source{Arrays: map[string]weights.Array{}, Rows: map[string]iter.Seq2[weights.Row, error]{}}
	for _, p := range nn.Inference(out).Params() {
		w := make([]float32, p.Size())
		p.InitDense(w)
		from.Arrays[p.Name] = weights.Array{Shape: p.Shape, Values: w}
	}
	dir := t.TempDir()
	law.Check(t, weights.SaveModel(t.Context(), dir, nn.Inference(out), from))
	return dir
}

func loaded(t *testing.T, out *nn.Node) *serve.Model {
	t.Helper()
	m, err := serve.Load(saved(t, out))
	law.Check(t, err)
	return m
}

func wantWords(t *testing.T, what string, err error, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(fmt.Sprint(err), w) {
			t.Errorf("%s: %v, without %q", what, err, w)
		}
	}
}
