package optimizer

import (
	"errors"
	"fmt"
	"math"
)

// A Checker is a rule or a schedule that can say what is wrong with its settings.
type Checker interface {
	// Check returns an error that names the setting, its value and what it may be, or nil.
	Check() error
}

// CheckRule says what is wrong with a rule's settings, or nil. Trainers call it before they train.
func CheckRule(r Rule) error {
	if r == nil {
		return errors.New("optimizer: there is no update rule: give one, such as optimizer.SGD{LR: 0.1}")
	}
	if c, ok := r.(Checker); ok {
		return c.Check()
	}
	return nil
}

// checks joins what is wrong with a rule.
func checks(name string, errs ...error) error {
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("optimizer: %s: %w", name, err)
	}
	return nil
}

func checkRate(lr float64, s Schedule) error {
	if c, ok := s.(Checker); ok {
		return c.Check()
	}
	return checkPositive("LR", lr)
}

// checkPositive allows zero too, which stands for the default.
func checkPositive(name string, v float64) error {
	if v >= 0 && !math.IsInf(v, 1) {
		return nil
	}
	return fmt.Errorf("%s is %v: it must be a positive number", name, v)
}

// checkFactor is for what multiplies a mean in every step.
func checkFactor(name string, v float64) error {
	if v >= 0 && v < 1 {
		return nil
	}
	return fmt.Errorf("%s is %v: it must be at least 0 and below 1", name, v)
}
