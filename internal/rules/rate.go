package rules

import (
	"errors"
	"fmt"
	"math"

	"github.com/gofleet/gofleet/optimizer"
)

// RateFactor returns the factor on all rates by which the rule, or the one in its wrappers, gets the given rate; rules
// of a [optimizer.PerParam] keep their proportion to it. It returns an error for a rule whose rate follows a schedule,
// which only a factor can change.
func RateFactor(r optimizer.Rule, rate float64) (float64, error) {
	rated, ok := find[optimizer.Rated](r)
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

// CheckRateFactor returns why a factor is not valid for the rates of these params' rules, or nil.
func CheckRateFactor(r optimizer.Rule, params []*optimizer.Param, factor float64) error {
	if !(factor > 0) || math.IsInf(factor, 1) {
		return fmt.Errorf("optimizer: the factor on learning rates is to be %v: it must be a positive number", factor)
	}
	var errs []error
	for _, p := range params {
		own := For(r, p)
		if own == nil {
			continue
		}
		if _, ok := find[optimizer.Rated](own); !ok {
			errs = append(errs, fmt.Errorf("optimizer: param %q has rule %s, whose rate can't be set: give it a "+
				"method LearningRate (see optimizer.Rated)", p.Name, own.Name()))
		}
	}
	return errors.Join(errs...)
}

// Rate is the learning rate of a rule's update, counted from 1, before any factor: 0 if the rule has none, and, for
// update 0, if it follows a schedule.
func Rate(r optimizer.Rule, update int64) float64 {
	rated, ok := find[optimizer.Rated](r)
	if !ok {
		return 0
	}
	lr, schedule := rated.LearningRate()
	switch {
	case schedule == nil:
		return lr
	case update < 1:
		return 0
	}
	return schedule.Rate(update - 1)
}
