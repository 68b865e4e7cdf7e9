package optimizer

import (
	"github.com/gofleet/gofleet/optimizer/lr"
)

// Rated is a rule whose learning rate a running job can change, as all rules of this package are: the [State] of every
// update has the job's factor. To make your own rule Rated, add this method and take the rate from [State.Rate]:
//
//	func (r MyRule) LearningRate() (float64, lr.Schedule) { return r.LR, r.Schedule }
//
//	rate := s.Rate(r.LearningRate())     // in Update
//
// Values derived from the rate may be cached in the [State]'s Memo, which is emptied when the factor changes.
type Rated interface {
	Rule
	// LearningRate returns the rate of the rule, with the default for 0, and the schedule that replaces it, if any.
	LearningRate() (lr float64, schedule lr.Schedule)
}

// Rate returns the learning rate of the update: lr, or the schedule's rate if there is one, times RateFactor.
func (s *State) Rate(lr float64, schedule lr.Schedule) float64 {
	if schedule != nil {
		lr = schedule.Rate(max(s.Step-1, 0))
	}
	if s.RateFactor != 0 {
		lr *= s.RateFactor
	}
	return lr
}

// rate is Rate, stored in the memo if it comes from a schedule. A rule that uses the memo for more than its rate
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

// fresh reports whether the memo has to be filled for the step, and marks it as filled.
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
