// Package optimizertest tests update rules, those of package optimizer and your own:
//
//	func TestMyRule(t *testing.T) {
//		optimizertest.Run(t, MyRule{LR: 0.1}, optimizertest.Exam{
//			Twin: func(w, g, state []float64, step int64) { … the formula in float64, one element at a time … },
//		})
//	}
//
// It checks that the rule follows its formula, gives the same result for a slice as for its parts, uses the given step
// instead of counting itself, keeps no data of a variable or a call, propagates NaN, applies the job's factor on its
// rate if it is optimizer.Rated, writes only to its own slices and to all of its state, allocates nothing, can be used
// by many goroutines at once (run the test with -race), and prints the same in every process. Without a Twin it can't
// check the formula itself: only the Twin finds a step off by one or a wrong factor.
//
// A rule that passes can be trusted with a table's rows and with blocks of any size on any number of servers.
package optimizertest
