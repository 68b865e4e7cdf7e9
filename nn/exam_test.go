package nn_test

import (
	"testing"

	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/nntest"
	"gorgonia.org/tensor"
)

// TestOpsSitTheExam: every op with a gradient sits the exam that a layer of one's own does.
func TestOpsSitTheExam(t *testing.T) {
	for _, op := range nn.ExaminedOps() {
		t.Run(op.Name, func(t *testing.T) {
			of := func(n int, dim func() int) nntest.Case { return caseOf(op.Make(n, dim)) }
			if op.Sized {
				nntest.Run(t, of)
			} else {
				nntest.Check(t, of(0, nil))
			}
		})
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
