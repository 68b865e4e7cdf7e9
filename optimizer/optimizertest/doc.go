// Package optimizertest is the exam that every update rule sits, those of package optimizer and a user's own:
//
//	func TestMyRule(t *testing.T) {
//		optimizertest.Run(t, MyRule{LR: 0.1}, optimizertest.Exam{
//			Twin: func(w, g, state []float64, step int64) { … the formula in float64, one element at a time … },
//		})
//	}
//
// A rule that passes can be trusted with a table's rows and with blocks of any size on any number of servers.
package optimizertest
