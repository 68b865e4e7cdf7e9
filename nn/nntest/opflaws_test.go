package nntest_test

import (
	"testing"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/nntest"
)

// faulty is max(x, 0)·w, of x [N D] and w [D], with one thing wrong.
type faulty struct{ Flaw string }

// secretive has what a saved model has not.
type secretive struct {
	faulty
	factor float32
}

// nameless is registered nowhere.
type nameless struct{ faulty }

func init() {
	if err := nn.RegisterOp[faulty]("nntest.faulty"); err != nil {
		panic(err)
	}
	if err := nn.RegisterOp[secretive]("nntest.secretive"); err != nil {
		panic(err)
	}
}

func (faulty) Shape(in [][]int) ([]int, error) { return in[0], nil }

func (o faulty) Forward(c *nn.OpCall) {
	x, w, y := c.In[0].Value, c.In[1].Value, c.Out.Value
	if o.Flaw == "allocates" {
		y = make([]float32, len(y))
		defer copy(c.Out.Value, y)
	}
	for i, v := range x {
		switch {
		case v >= 0 || v != v && o.Flaw != "hides a NaN":
			y[i] = v * w[i%len(w)]
		case o.Flaw != "leaves what there was":
			y[i] = 0
		}
		if o.Flaw == "looks at other examples" {
			y[i] += 1e-3 * x[0]
		}
		if o.Flaw == "counts rows" && c.Rows > 100 {
			y[i] = 0
		}
	}
}

func (o faulty) Backward(c *nn.OpCall) {
	x, w := c.In[0], c.In[1]
	if o.Flaw == "sets its gradient" {
		clear(w.Grad)
	}
	for i, v := range x.Value {
		if v < 0 {
			continue
		}
		if g := c.Out.Grad[i]; x.Grad != nil || o.Flaw == "asks for no gradient" {
			x.Grad[i] += g * w.Value[i%len(w.Value)]
		}
		if g := c.Out.Grad[i]; w.Grad != nil && o.Flaw != "forgets a gradient" {
			w.Grad[i%len(w.Grad)] += g * v
		}
	}
}

// faultyCase is the exam of one of them. The flaw of a name is not a field of nameless and secretive.
func faultyCase(flaw string) func(n int, dim func() int) nntest.Case {
	return func(n int, dim func() int) nntest.Case {
		d := dim()
		return nntest.Case{
			Inputs: []nntest.Input{nntest.Values(n, d), nntest.Weights(d)},
			Build: func(in []*nn.Node) *nn.Node {
				switch flaw {
				case "has no name":
					return nn.Custom(nameless{}, in...)
				case "has a secret":
					return nn.Custom(secretive{factor: 2}, in...)
				}
				return nn.Custom(faulty{flaw}, in...)
			},
			Twin: func(in [][]float64) []float64 {
				y := make([]float64, n*d)
				for i, x := range in[0] {
					y[i] = max(x, 0) * in[1][i%d]
				}
				return y
			},
		}
	}
}

// TestFaulty is the exam of a faulty op, in a process of its own: it is meant to fail.
func TestFaulty(t *testing.T) { underExam(t, faultyCase) }

func TestExamFindsFaultyOps(t *testing.T) {
	law.Slow(t)
	findsFlaws(t, "TestFaulty", map[string]string{
		"forgets a gradient": "formula", "sets its gradient": "used_twice", "asks for no gradient": "trained_alone",
		"leaves what there was": "many_examples", "counts rows": "many_examples", "looks at other examples": "own_values",
		"hides a NaN": "a_NaN_shows", "allocates": "allocates_nothing", "has no name": "saved", "has a secret": "saved",
	})
}
