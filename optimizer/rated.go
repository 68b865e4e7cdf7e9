package optimizer

import (
	"errors"
	"fmt"
	"math"
)

// Rated is a rule with a learning rate, as all of this package are, which a job may change while it trains: every
// update's [State] has the job's factor on it. A rule of one's own becomes one by this method and by taking its rate
// from [State.Rate]:
//
//	func (r MyRule) LearningRate() (float64, optimizer.Schedule) { return r.LR, r.Schedule }
//
//	rate := s.Rate(r.LearningRate())     // in Update
//
// What it derives from the rate and keeps in [State]'s Memo is right without more: a memo is empty when the factor has
// changed.
type Rated interface {
	Rule
	// LearningRate is the rate that the rule was given, its default in place of a zero, and the schedule that stands in
	// for it, if any.
	LearningRate() (lr float64, schedule Schedule)
}

// Rate is the learning rate of the update: lr, or the schedule's where there is one, times RateFactor.
func (s *State) Rate(lr float64, schedule Schedule) float64 {
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
func (s *State) rate(lr float64, schedule Schedule) float32 {
	if schedule == nil {
		return float32(s.Rate(lr, nil))
	}
	if s.fresh() {
		s.Memo[0] = float32(s.Rate(0, schedule))
	}
	return s.Memo[0]
}

// SetRateFactor sets RateFactor, and empties the memo if that changes it.
func (s *State) SetRateFactor(factor float64) {
	if s.RateFactor != factor {
		s.RateFactor, s.MemoStep = factor, 0
	}
}

// RateFactor is the factor on all rates that gives the rule, or the one in its wrappers, that rate; rules of a
// [PerParam] keep their proportion to it. It is an error for a rule whose rate follows a schedule, which takes a factor
// alone.
func RateFactor(r Rule, rate float64) (float64, error) {
	rated, ok := find[Rated](r)
	if !ok {
		return 0, fmt.Errorf("optimizer: rule %s has no rate that can be set: give it a method LearningRate (see "+
			"optimizer.Rated)", r.Name())
	}
	lr, schedule := rated.LearningRate()
	switch {
	case schedule != nil:
		return 0, fmt.Errorf("optimizer: the rate of rule %s follows %T: set a factor on it, not a rate", r.Name(),
			schedule)
	case !(rate > 0) || math.IsInf(rate, 1):
		return 0, fmt.Errorf("optimizer: the rate is to be %v: it must be a positive number", rate)
	case lr == 0:
		return 0, fmt.Errorf("optimizer: rule %s was given the rate 0, which no factor makes %v", r.Name(), rate)
	}
	return rate / lr, nil
}

// CheckRateFactor says why a factor can't be one on the rates of these params' rules, or nil.
func CheckRateFactor(r Rule, params []*Param, factor float64) error {
	if !(factor > 0) || math.IsInf(factor, 1) {
		return fmt.Errorf("optimizer: the factor on learning rates is to be %v: it must be a positive number", factor)
	}
	var errs []error
	for _, p := range params {
		own := RuleFor(r, p)
		if own == nil {
			continue
		}
		if _, ok := find[Rated](own); !ok {
			errs = append(errs, fmt.Errorf("optimizer: param %q has rule %s, whose rate can't be set: give it a "+
				"method LearningRate (see optimizer.Rated)",
				p.Name, own.Name()))
		}
	}
	return errors.Join(errs...)
}
