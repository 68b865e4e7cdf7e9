// Package optimizertest is the exam that every update rule sits, those of package optimizer and a user's own:
//
//	func TestMyRule(t *testing.T) {
//		optimizertest.Run(t, MyRule{LR: 0.1}, optimizertest.Exam{
//			Twin: func(w, g, state []float64, step int64) { … the formula in float64, one element at a time … },
//		})
//	}
//
// It asks whether the rule follows its formula, gives the same for a slice as for its parts, counts by the step it is
// told and not by itself, keeps nothing that belongs to a variable or a call, shows a NaN, obeys the factor that a job
// sets on its rate where it says so (optimizer.Rated), writes to its own slices alone and to all of its state,
// allocates nothing, may be used by many goroutines at once (run the test with -race), and prints the same in every
// process. Without a twin it can't know the formula: off by one step, or by a factor, is for the twin to find.
//
// A rule that passes can be trusted with a table's rows and with blocks of any size on any number of servers.
package optimizertest
