package optimizer

import (
	"github.com/gofleet/gofleet/optimizer/lr"
)

// Rated is a rule with a learning rate, as all of this package are, which a job may change while it trains: every
// update's [State] has the job's factor on it. A rule of one's own becomes one by this method and by taking its rate
// from [State.Rate]:
//
//	func (r MyRule) LearningRate() (float64, lr.Schedule) { return r.LR, r.Schedule }
//
//	rate := s.Rate(r.LearningRate())     // in Update
//
// What it derives from the rate and keeps in [State]'s Memo is right without more: a memo is empty when the factor has
// changed.
type Rated interface {
	Rule
	// LearningRate is the rate that the rule was given, its default in place of a zero, and the schedule that stands in
	// for it, if any.
	LearningRate() (lr float64, schedule lr.Schedule)
}

// Rate is the learning rate of the update: lr, or the schedule's where there is one, times RateFactor.
func (s *State) Rate(lr float64, schedule lr.Schedule) float64 {
	if schedule != nil {
		lr = schedule.Rate(max(s.Step-1, 0))
	}
	if s.RateFactor != 0 {
		lr *= s.RateFactor
	}
	return lr
}

// rate is Rate, looked up in the memo when a schedule had to be asked. A rule that uses the memo for more than its rate
// doesn't call it.
func (s *State) rate(lr float64, schedule lr.Schedule) float32 {
	if schedule == nil {
		return float32(s.Rate(lr, nil))
	}
	if s.fresh() {
		s.Memo[0] = float32(s.Rate(0, schedule))
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

// SetRateFactor sets RateFactor, and empties the memo if that changes it.
func (s *State) SetRateFactor(factor float64) {
	if s.RateFactor != factor {
		s.RateFactor, s.MemoStep = factor, 0
	}
}
