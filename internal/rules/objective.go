package rules

import (
	"errors"

	"github.com/gofleet/gofleet/optimizer"
)

// CheckObjective returns why an objective can't be minimised, or nil: the error of its Minimizable, or of a method
// Err() error that it has instead. Trainers call it before Bind.
func CheckObjective(o optimizer.Objective) error {
	if o == nil {
		return errors.New("optimizer: nothing to minimise: the objective is nil")
	}
	if c, ok := o.(interface{ Minimizable() error }); ok {
		return c.Minimizable()
	}
	if e, ok := o.(interface{ Err() error }); ok {
		return e.Err()
	}
	return nil
}
