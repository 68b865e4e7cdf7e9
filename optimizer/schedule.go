package optimizer

import "math"

// A Schedule gives the learning rate over time: Rate of n, the number of updates that are behind, so that the first
// update has the rate of 0. A schedule is plain data, the same on every worker and server: its printed form is part of
// the rule's, and as there pointers and functions are refused; [LambdaDecay] takes a function by name. [Every] makes a
// schedule count epochs, or any other number of updates, in place of updates.
//
// Rules take a schedule in place of a constant:
//
//	optimizer.SGD{Schedule: optimizer.ExponentialDecay{LR: 0.1, Gamma: 0.9}}
type Schedule interface {
	Rate(n int64) float64
}

// Zero is 0 for fields whose 0 means another default, such as the end of a schedule:
//
//	optimizer.PolynomialDecay{LR: 0.1, Steps: 10_000, End: optimizer.Zero}
//
// It is the smallest float64 above 0, which weights, being float32, can't tell from 0.
const Zero float64 = math.SmallestNonzeroFloat64

// fresh says that the memo has to be filled for the step, which it then counts as.
func (s *State) fresh() bool {
	if s.MemoStep == s.Step && s.Step != 0 {
		return false
	}
	s.MemoStep = s.Step
	return true
}

// or is v, or the default when v is zero.
func or(v, def float64) float64 {
	if v == 0 {
		return def
	}
	return v
}
