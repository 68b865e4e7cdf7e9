package optimizer

import (
	"errors"
	"fmt"
	"slices"
)

// Check implements [Checker].
func (d ExponentialDecay) Check() error {
	return checkSchedule("ExponentialDecay", checkPositive("LR", d.LR), checkPositive("Gamma", d.Gamma))
}

// Check implements [Checker].
func (d NaturalExpDecay) Check() error {
	return checkSchedule("NaturalExpDecay", checkPositive("LR", d.LR), checkPositive("Gamma", d.Gamma))
}

// Check implements [Checker].
func (d InverseTimeDecay) Check() error {
	return checkSchedule("InverseTimeDecay", checkPositive("LR", d.LR), checkPositive("Gamma", d.Gamma))
}

// Check implements [Checker].
func (d PolynomialDecay) Check() error {
	return checkSchedule("PolynomialDecay", checkPositive("LR", d.LR), checkPositive("End", d.End), checkSteps("Steps", d.Steps))
}

// Check implements [Checker].
func (d NoamDecay) Check() error {
	return checkSchedule("NoamDecay", checkPositive("LR", d.LR), checkSteps("Model", d.Model), checkSteps("Warmup", d.Warmup))
}

// Check implements [Checker].
func (d LinearWarmup) Check() error {
	return checkSchedule("LinearWarmup", checkPositive("Start", d.Start), checkPositive("End", d.End), checkSteps("Steps", d.Steps))
}

// Check implements [Checker].
func (d LinearLR) Check() error {
	return checkSchedule("LinearLR", checkPositive("LR", d.LR), checkPositive("Start", d.Start), checkPositive("End", d.End),
		checkSteps("Steps", d.Steps))
}

// Check implements [Checker].
func (d PiecewiseDecay) Check() error {
	var count error
	if len(d.Values) != len(d.Boundaries)+1 {
		count = fmt.Errorf("%d Values for %d Boundaries: there must be one more", len(d.Values), len(d.Boundaries))
	}
	return checkSchedule("PiecewiseDecay", count, checkGrowing("Boundaries", d.Boundaries))
}

// Check implements [Checker].
func (d StepDecay) Check() error {
	return checkSchedule("StepDecay", checkPositive("LR", d.LR), checkPositive("Gamma", d.Gamma), checkSteps("Size", d.Size))
}

// Check implements [Checker].
func (d MultiStepDecay) Check() error {
	return checkSchedule("MultiStepDecay", checkPositive("LR", d.LR), checkPositive("Gamma", d.Gamma),
		checkGrowing("Milestones", d.Milestones))
}

// Check implements [Checker].
func (d LambdaDecay) Check() error {
	return checkSchedule("LambdaDecay", checkPositive("LR", d.LR), checkFunction(d.Name, d.Factor))
}

// Check implements [Checker].
func (d MultiplicativeDecay) Check() error {
	return checkSchedule("MultiplicativeDecay", checkPositive("LR", d.LR), checkFunction(d.Name, d.Factor))
}

// Check implements [Checker].
func (e Every) Check() error {
	var missing error
	if e.Schedule == nil {
		missing = errors.New("Schedule is missing")
	}
	return checkSchedule("Every", checkSteps("Steps", e.Steps), missing)
}

// Check implements [Checker].
func (d CosineAnnealingDecay) Check() error {
	return checkSchedule("CosineAnnealingDecay", checkPositive("LR", d.LR), checkPositive("Min", d.Min), checkSteps("Steps", d.Steps))
}

// Check implements [Checker].
func (d CosineAnnealingWarmRestarts) Check() error {
	return checkSchedule("CosineAnnealingWarmRestarts", checkPositive("LR", d.LR), checkPositive("Min", d.Min),
		checkSteps("Steps", d.Steps), checkPositive("Mult", float64(d.Mult)))
}

// Check implements [Checker].
func (d OneCycleLR) Check() error {
	var rise error
	if !(d.Rise >= 0 && d.Rise < 1) || d.ThreePhase && d.Rise >= 0.5 {
		rise = fmt.Errorf("Rise is %v: it must be a part of 1, below a half with ThreePhase", d.Rise)
	}
	return checkSchedule("OneCycleLR", checkPositive("Max", d.Max), checkPositive("Divide", d.Divide), checkPositive("End", d.End),
		checkSteps("Steps", d.Steps), rise)
}

// Check implements [Checker].
func (d CyclicLR) Check() error {
	var mode error
	if !slices.Contains([]CyclicMode{"", Triangular, Triangular2, ExpRange}, d.Mode) {
		mode = fmt.Errorf("Mode is %q: it must be %q, %q or %q", d.Mode, Triangular, Triangular2, ExpRange)
	}
	return checkSchedule("CyclicLR", checkPositive("Base", d.Base), checkPositive("Max", d.Max), checkSteps("Up", d.Up),
		checkPositive("Down", float64(d.Down)), checkPositive("Gamma", d.Gamma), mode)
}

func checkSchedule(name string, errs ...error) error {
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func checkSteps(name string, n int64) error {
	if n > 0 {
		return nil
	}
	return fmt.Errorf("%s is %d: it must be at least 1", name, n)
}

func checkGrowing(name string, at []int64) error {
	for i := 1; i < len(at); i++ {
		if at[i] <= at[i-1] {
			return fmt.Errorf("%s are %v: each must be above the one before", name, at)
		}
	}
	return nil
}

func checkFunction(name string, f func(int64) float64) error {
	if name == "" || f == nil {
		return errors.New("Name and Factor are both needed: the name stands for the function where processes compare their rules")
	}
	return nil
}
