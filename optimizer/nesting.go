package optimizer

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// A Wrapper is a rule around another rule, such as one that clips gradients first.
type Wrapper interface {
	Unwrap() Rule
}

// find returns the first of a rule and the rules inside it that implements T.
func find[T any](r Rule) (power T, ok bool) {
	for {
		if power, ok = r.(T); ok {
			return power, true
		}
		w, wraps := r.(Wrapper)
		if !wraps {
			return power, false
		}
		r = w.Unwrap()
	}
}

var errNoRule = errors.New("optimizer: missing update rule: give one, such as optimizer.SGD{LR: 0.1}")

// checkNesting returns an error for nested rules in an order in which one of them would have no effect, or another one
// than it seems: a clip by norm must be outermost, since it needs all gradients, and then a [PerParam], which trainers
// look through without applying it.
func checkNesting(r Rule) error {
	for {
		w, wraps := r.(Wrapper)
		if !wraps {
			return nil
		}
		inside := w.Unwrap()
		if inside == nil {
			return within(fmt.Sprintf("Rule of %T", r), errNoRule)
		}
		if err := inspect(reflect.ValueOf(&inside).Elem(), false); err != nil { // if it is no exported field
			return within(fmt.Sprintf("Rule of %T", r), err)
		}
		if err := checkAround(r, inside); err != nil {
			return err
		}
		r = inside
	}
}

// checkAround is checkNesting for one wrapper.
func checkAround(r, inside Rule) error {
	if per, ok := r.(PerParam); ok {
		return checkOwn(per)
	}
	if _, clips := r.(GradientClipper); clips {
		if _, twice := find[GradientClipper](inside); twice {
			return fmt.Errorf("optimizer: %T: one clip by norm inside another", r)
		}
		return nil
	}
	if _, ok := find[PerParam](inside); ok {
		return fmt.Errorf("optimizer: %T around a PerParam would do nothing: decay, clips by value and their like go "+
			"inside a PerParam, around each of its rules", r)
	}
	return nil
}

// checkOwn returns an error for rules inside a PerParam that need all params at once.
func checkOwn(per PerParam) error {
	errs := []error{within("Rule of optimizer.PerParam", checkOne(per.Rule))}
	for _, name := range slices.Sorted(maps.Keys(per.By)) {
		errs = append(errs, within(fmt.Sprintf("param %q", name), checkOne(per.By[name])))
	}
	return errors.Join(errs...)
}

// checkOne checks the rule of one param, or of all params without one of their own.
func checkOne(r Rule) error {
	if r == nil {
		return errNoRule
	}
	if _, ok := find[PerParam](r); ok {
		return errors.New("optimizer: a PerParam inside another")
	}
	if _, ok := find[GradientClipper](r); ok {
		return errors.New("optimizer: a clip by norm goes around the PerParam, not inside it")
	}
	return checkNesting(r)
}
