package nntest_test

import (
	"math"
	"testing"

	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/nntest"
)

// A layer of one's own is held to its formula, at all sizes. In a test of one's own:
func ExampleRun() {
	var t *testing.T // of func TestHighway(t *testing.T)
	nntest.Run(t, highway)
}

// highway is x·s + Tanh(x)·(1−s), s being Sigmoid(x + b).
func highway(n int, dim func() int) nntest.Case {
	d := dim()
	return nntest.Case{
		Inputs: []nntest.Input{nntest.Values(n, d), nntest.Weights(d)},
		Build: func(in []*nn.Node) *nn.Node {
			share, curve := nn.Sigmoid(nn.Add(in[0], in[1])), nn.Tanh(in[0])
			return nn.Add(curve, nn.Multiply(share, nn.Subtract(in[0], curve)))
		},
		Twin: func(in [][]float64) []float64 {
			y := make([]float64, n*d)
			for i, x := range in[0] {
				s := 1 / (1 + math.Exp(-x-in[1][i%d]))
				y[i] = x*s + math.Tanh(x)*(1-s)
			}
			return y
		},
	}
}

func TestHighway(t *testing.T) { nntest.Run(t, highway) }
