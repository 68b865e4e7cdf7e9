package optimizer

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/gofleet/gofleet/optimizer/lr"
)

// CheckRule returns an error that says what is wrong with a rule, or nil. It runs the method Check of everything in it,
// nested rules and schedules included. It refuses pointers, since they are different types from the rules that trainers
// know, and processes would compare their addresses; and wrappers in places where they would have no effect. Trainers
// call it before they train. With params it also refuses names of others, in a [PerParam] or as exceptions of a clip:
// a mistyped name would have no effect.
func CheckRule(r Rule, params ...*Param) error {
	if r == nil {
		return errNoRule
	}
	if err := inspect(reflect.ValueOf(&r).Elem(), false); err != nil {
		return prefixed(err)
	}
	if err := checkNesting(r); err != nil || len(params) == 0 {
		return err
	}
	return checkNames(r, params)
}

// checkNames returns an error if a rule names params that the objective does not have.
func checkNames(r Rule, params []*Param) error {
	for {
		if n, ok := r.(interface{ paramNames() []string }); ok {
			for _, name := range n.paramNames() {
				if !slices.ContainsFunc(params, func(p *Param) bool { return p.Name == name }) {
					return fmt.Errorf("optimizer: %T names unknown param %q; want one of %s", r, name, listed(params))
				}
			}
		}
		w, wraps := r.(Wrapper)
		if !wraps {
			return nil
		}
		r = w.Unwrap()
	}
}

// listed returns the names of some params.
func listed(params []*Param) string {
	const most = 20
	var names []string
	for _, p := range params[:min(len(params), most)] {
		names = append(names, strconv.Quote(p.Name))
	}
	if more := len(params) - most; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// checks joins the errors of a rule's settings.
func checks(name string, errs ...error) error {
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("optimizer: %s: %w", name, err)
	}
	return nil
}

// checkRate checks a rate, which a schedule may replace.
func checkRate(lr float64, s lr.Schedule) error {
	switch {
	case s != nil:
		return nil
	case lr > 0 && float32(lr) == 0:
		return fmt.Errorf("LR is %v, which is 0 for a float32: nothing would be trained", lr)
	}
	return checkPositive("LR", lr)
}

// checkPositive also allows zero, which means the default.
func checkPositive(name string, v float64) error {
	if v >= 0 && v <= math.MaxFloat32 {
		return nil
	}
	return fmt.Errorf("%s is %v: it must be a positive float32", name, v)
}

// checkDivisor is checkPositive for a number that keeps a division finite: as a float32 it must not be 0.
func checkDivisor(name string, v float64) error {
	if v > 0 && float32(v) == 0 {
		return fmt.Errorf("%s is %v, which is 0 for a float32: a weight whose gradient is 0 would become 0/0", name, v)
	}
	return checkPositive(name, v)
}

// checkFactor checks a decay factor of a mean.
func checkFactor(name string, v float64) error {
	if v >= 0 && v < 1 || v == -1 {
		return nil
	}
	return fmt.Errorf("%s is %v: it must be at least 0 and below 1, or -1 for none", name, v)
}

// checkOrNone is checkPositive for a setting that -1 switches off.
func checkOrNone(name string, v float64) error {
	if v == -1 {
		return nil
	}
	return checkPositive(name, v)
}
