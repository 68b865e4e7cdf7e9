package nn_test

import (
	"math"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/nntest"
	"gorgonia.org/tensor"
)

// TestOpsSitTheExam: every op with a gradient sits the exam that a layer of one's own does, those of this run's share at all sizes.
//
// Promise: [G2] an example's value does not depend on other examples, and a saved op computes the same bits
func TestOpsSitTheExam(t *testing.T) {
	law.Slow(t)
	all := nn.ExaminedOps()
	sized := map[string]bool{}
	for _, op := range law.Some(t, slices.DeleteFunc(slices.Clone(all), func(op nn.Examined) bool { return !op.Sized })) {
		sized[op.Name] = true
	}
	for i, op := range all {
		if !sized[op.Name] && i%(len(all)/law.Tries(len(all))) != 0 {
			continue
		}
		t.Run(op.Name, func(t *testing.T) {
			of := func(n int, dim func() int) nntest.Case { return caseOf(op.Make(n, dim)) }
			if sized[op.Name] {
				nntest.Run(t, of)
			} else {
				nntest.Check(t, of(3, func() int { return 4 }))
			}
		})
	}
}

func init() {
	if err := nn.RegisterOp[Bells]("example.bells"); err != nil {
		panic(err)
	}
}

func caseOf(e nn.ExaminedCase) nntest.Case {
	c := nntest.Case{Build: e.Build, Twin: e.Twin, Mixed: e.Mixed, TrainOnly: e.TrainOnly}
	for _, in := range e.Inputs {
		c.Inputs = append(c.Inputs, nntest.Input{Shape: in.Shape, Low: in.Low, High: in.High, Whole: in.Whole, Fixed: in.Fixed,
			Make: func(n nntest.Input, g *nn.Graph, feeds map[string]*tensor.Dense, name string, v []float64) *nn.Node {
				return in.Make(n.Shape, g, feeds, name, v)
			}})
	}
	return c
}

// TestOwnOpSitsTheExam: an op of one's own, with a parameter.
func TestOwnOpSitsTheExam(t *testing.T) {
	nntest.Run(t, func(n int, dim func() int) nntest.Case {
		d, k := dim(), dim()
		return nntest.Case{
			Inputs: []nntest.Input{nntest.Values(n, d), nntest.Weights(k, d)},
			Build:  func(in []*nn.Node) *nn.Node { return nn.Custom(Bells{Steep: 0.1}, in...) },
			Twin: func(in [][]float64) []float64 {
				y := make([]float64, n*k)
				for i := range y {
					far := 0.0
					for j := range d {
						far += math.Pow(in[0][i/k*d+j]-in[1][i%k*d+j], 2)
					}
					y[i] = math.Exp(-0.1 * far)
				}
				return y
			},
		}
	})
}
