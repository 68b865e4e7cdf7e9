// Package nntest tests operations, those of package nn and your own: an nn.Op, or a layer of several:
//
//	func TestGate(t *testing.T) {
//		nntest.Run(t, func(n int, dim func() int) nntest.Case {
//			d := dim()
//			return nntest.Case{
//				Inputs: []nntest.Input{nntest.Values(n, d), nntest.Weights(d)},
//				Build:  func(in []*nn.Node) *nn.Node { return nn.Multiply(in[0], nn.Sigmoid(nn.Add(in[0], in[1]))) },
//				Twin:   func(in [][]float64) []float64 { … the formula in float64, one element at a time … },
//			}
//		})
//	}
//
// With batches of 1 to 13 examples and dimensions from 1 to 37, it compares values in training and evaluation with the
// formula, and gradients with its central differences; also if the layer is used twice and gradients add up, if only
// one input is trained, and for a batch that several cores share, between small ones. It checks that an example's
// values don't depend on the rest of the batch and propagate NaN, that a step allocates nothing after the first, that a
// saved model computes the same bits when it is loaded, and that executors in several goroutines do too (run the test
// with -race).
package nntest
