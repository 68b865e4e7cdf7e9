// Package nntest is the exam that every operation of package nn sits, and a layer of one's own, built of operations:
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
// up; whether an example's values are its own, whatever else is in the batch; whether a step allocates nothing once it
// has its memory; whether a saved model computes the same bits when it is loaded; and whether executors in several
// goroutines do (run the test with -race).
package nntest
