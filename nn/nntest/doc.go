// Package nntest is the exam that every operation of package nn sits, and one's own: an nn.Op, or a layer of several:
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
// It asks, of batches of 1 to 13 examples and dimensions from 1 to 37, whether values in training and in an evaluation
// are those of the formula, and gradients its central differences, also where the layer is used twice and gradients add
// up, where one input alone is trained, and of a batch that cores share, with small ones before and behind it; whether
// an example's values are its own, whatever else is in the batch, and show a NaN; whether a step allocates nothing once
// it has its memory; whether a saved model computes the same bits when it is loaded; and whether executors in several
// goroutines do (run the test with -race).
package nntest
