package lr

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Check returns what is wrong with the settings, or nil.
func (d ExponentialDecay) Check() error {
	return checkDecay("ExponentialDecay", d.LR, d.Gamma, d.Steps)
}

// Check returns what is wrong with the settings, or nil.
func (d NaturalExpDecay) Check() error {
	return checkDecay("NaturalExpDecay", d.LR, d.Gamma, d.Steps)
}

// Check returns what is wrong with the settings, or nil.
func (d InverseTimeDecay) Check() error {
	return checkDecay("InverseTimeDecay", d.LR, d.Gamma, d.Steps)
}

// Check returns what is wrong with the settings, or nil.
func (d PolynomialDecay) Check() error {
	return checkSchedule("PolynomialDecay", checkAbove("LR", d.LR), checkEnd("LR", d.LR, d.End),
		checkPositive("Power", d.Power), checkSteps("Steps", d.Steps))
}

// Check returns what is wrong with the settings, or nil.
func (d NoamDecay) Check() error {
	return checkSchedule("NoamDecay", checkPositive("LR", d.LR), checkSteps("Model", d.Model),
		checkSteps("Warmup", d.Warmup))
}

// Check returns what is wrong with the settings, or nil.
func (d LinearWarmup) Check() error {
	var end error
	if d.End == 0 && (d.Start == 0 || d.After != nil) {
		end = errors.New("End is 0: it is the rate to warm up to (-1, if 0 is meant)")
	}
	return checkSchedule("LinearWarmup", end, checkPositive("Start", d.Start), checkOrNone("End", d.End),
		checkSteps("Steps", d.Steps))
}

// Check returns what is wrong with the settings, or nil.
func (d LinearLR) Check() error {
	var line error
	if start, end := d.factors(); start == end {
		line = fmt.Errorf("Start is %v and End %v, so that the rate never changes: 0 means 1/3 and 1, and -1 is 0",
			d.Start, d.End)
	}
	return checkSchedule("LinearLR", line, checkAbove("LR", d.LR), checkOrNone("Start", d.Start),
		checkOrNone("End", d.End), checkSteps("Steps", d.Steps))
}

// Check returns what is wrong with the settings, or nil.
func (d PiecewiseDecay) Check() error {
	var count error
	if len(d.Values) != len(d.Boundaries)+1 {
		count = fmt.Errorf("%d Values for %d Boundaries: there must be one more", len(d.Values), len(d.Boundaries))
	}
	errs := []error{count, checkGrowing("Boundaries", d.Boundaries)}
	for i, v := range d.Values {
		errs = append(errs, checkPositive(fmt.Sprintf("Values[%d]", i), v))
	}
	return checkSchedule("PiecewiseDecay", errs...)
}

// Check returns what is wrong with the settings, or nil.
func (d StepDecay) Check() error {
	return checkSchedule("StepDecay", checkAbove("LR", d.LR), checkPositive("Gamma", d.Gamma),
		checkSteps("Size", d.Size))
}

// Check returns what is wrong with the settings, or nil.
func (d MultiStepDecay) Check() error {
	return checkSchedule("MultiStepDecay", checkAbove("LR", d.LR), checkPositive("Gamma", d.Gamma),
		checkGrowing("Milestones", d.Milestones))
}

// Check returns what is wrong with the settings, or nil.
func (d LambdaDecay) Check() error {
	return checkSchedule("LambdaDecay", checkAbove("LR", d.LR), checkFunction(d.Name, d.Factor))
}

// Check returns what is wrong with the settings, or nil.
func (d MultiplicativeDecay) Check() error {
	return checkSchedule("MultiplicativeDecay", checkAbove("LR", d.LR), checkFunction(d.Name, d.Factor))
}

// Check returns what is wrong with the settings, or nil.
func (e Every) Check() error {
	var missing error
	if e.Schedule == nil {
		missing = errors.New("Schedule is missing")
	}
	return checkSchedule("Every", checkSteps("Steps", e.Steps), missing)
}

// Check returns what is wrong with the settings, or nil.
func (d CosineAnnealingDecay) Check() error {
	return checkSchedule("CosineAnnealingDecay", checkAbove("LR", d.LR), checkPositive("Min", d.Min),
		checkSteps("Steps", d.Steps))
}

// Check returns what is wrong with the settings, or nil.
func (d CosineAnnealingWarmRestarts) Check() error {
	return checkSchedule("CosineAnnealingWarmRestarts", checkAbove("LR", d.LR), checkPositive("Min", d.Min),
		checkSteps("Steps", d.Steps), checkPositive("Mult", float64(d.Mult)))
}

// Check returns what is wrong with the settings, or nil.
func (d OneCycleLR) Check() error {
	var rise error
	if !(d.Rise >= 0 && d.Rise < 1) || d.ThreePhase && d.Rise >= 0.5 {
		rise = fmt.Errorf("Rise is %v: it must be a part of 1, below a half with ThreePhase", d.Rise)
	}
	return checkSchedule("OneCycleLR", checkAbove("Max", d.Max), checkPositive("Divide", d.Divide),
		checkEnd("Max", d.Max, d.End), checkSteps("Steps", d.Steps), rise)
}

// Check returns what is wrong with the settings, or nil.
func (d CyclicLR) Check() error {
	var mode error
	if !slices.Contains([]CyclicMode{"", Triangular, Triangular2, ExpRange}, d.Mode) {
		mode = fmt.Errorf("Mode is %q: it must be %q, %q or %q", d.Mode, Triangular, Triangular2, ExpRange)
	}
	if d.Gamma != 0 && d.Gamma != 1 && d.Mode != ExpRange {
		mode = fmt.Errorf("Gamma is %v: it is for mode %q alone", d.Gamma, ExpRange)
	}
	return checkSchedule("CyclicLR", checkPositive("Base", d.Base), checkAbove("Max", d.Max), checkSteps("Up", d.Up),
		checkPositive("Down", float64(d.Down)), checkPositive("Gamma", d.Gamma), mode)
}

func checkSchedule(name string, errs ...error) error {
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// checkDecay checks a decay that Steps stretches.
func checkDecay(name string, lr, gamma float64, steps int64) error {
	return checkSchedule(name, checkAbove("LR", lr), checkAbove("Gamma", gamma), checkPositive("Steps", float64(steps)))
}

// checkEnd checks a last rate, whose default may be too large for a small first one.
func checkEnd(name string, top, end float64) error {
	if end == 0 && top > 0 && top <= defaultEnd {
		return fmt.Errorf("End is 0, which means %v and is not below %s, %v: set it (-1 is 0)", defaultEnd, name, top)
	}
	return checkOrNone("End", end)
}

// checkOrNone is checkPositive for a setting that is 0 if given as -1.
func checkOrNone(name string, v float64) error {
	if v == -1 {
		return nil
	}
	return checkPositive(name, v)
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
		return errors.New("Name and Factor are both needed: the name stands for the function where processes compare " +
			"their rules")
	}
	return nil
}

// checkPositive also allows zero, which means the default.
func checkPositive(name string, v float64) error {
	if v >= 0 && !math.IsInf(v, 1) {
		return nil
	}
	return fmt.Errorf("%s is %v: it must be a positive number", name, v)
}

// checkAbove checks a setting without a default.
func checkAbove(name string, v float64) error {
	if v > 0 && !math.IsInf(v, 1) {
		return nil
	}
	return fmt.Errorf("%s is %v: it must be above 0", name, v)
}
