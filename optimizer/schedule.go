package optimizer

import "math"

// A Schedule gives the learning rate over time: Rate of n, the number of updates that are behind, so that the first update
// has the rate of 0. A schedule is plain data, the same on every worker and server: its printed form is part of the rule's, and as
// there pointers and functions are refused; [LambdaDecay] takes a function by name. [Every] makes a schedule count epochs, or any
// other number of updates, in place of updates.
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

// rateAt is the learning rate of a step: the schedule's when there is one, else lr, whose zero means def.
func rateAt(lr, def float64, schedule Schedule, s *State) float64 {
	if schedule == nil {
		return or(lr, def)
	}
	return schedule.Rate(max(s.Step-1, 0))
}

// memoRate is rateAt, looked up in the memo when a schedule had to be asked. A rule that uses the memo for more than its
// rate doesn't call it.
func memoRate(lr, def float64, schedule Schedule, s *State) float32 {
	if schedule == nil {
		return float32(or(lr, def))
	}
	return s.scheduled(schedule)
}

func (s *State) scheduled(schedule Schedule) float32 {
	if s.fresh() {
		s.Memo[0] = float32(schedule.Rate(max(s.Step-1, 0)))
	}
	return s.Memo[0]
}

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
