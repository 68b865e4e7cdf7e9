package lr

import (
	"fmt"
	"math"
)

// PiecewiseDecay is Values[0] before update Boundaries[0], Values[1] from there on and before Boundaries[1], and so on.
// There is one more value than boundaries, and boundaries increase.
type PiecewiseDecay struct {
	Boundaries []int64
	Values     []float64
}

// Rate implements [Schedule].
func (d PiecewiseDecay) Rate(n int64) float64 {
	at := passed(d.Boundaries, n)
	if len(d.Values) == 0 {
		return 0
	}
	return d.Values[min(at, len(d.Values)-1)]
}

// passed is the number of boundaries at or before n.
func passed(boundaries []int64, n int64) int {
	at := 0
	for at < len(boundaries) && n >= boundaries[at] {
		at++
	}
	return at
}

// StepDecay is LR·Gammaᵏ after k times Size updates.
type StepDecay struct {
	LR   float64
	Size int64
	// Gamma is the factor; 0 means 0.1.
	Gamma float64
}

// Rate implements [Schedule].
func (d StepDecay) Rate(n int64) float64 {
	return d.LR * math.Pow(or(d.Gamma, 0.1), float64(n/max(d.Size, 1)))
}

// MultiStepDecay is LR·Gammaᵏ after k of the Milestones, which increase.
type MultiStepDecay struct {
	LR         float64
	Milestones []int64
	// Gamma is the factor; 0 means 0.1.
	Gamma float64
}

// Rate implements [Schedule].
func (d MultiStepDecay) Rate(n int64) float64 {
	return d.LR * math.Pow(or(d.Gamma, 0.1), float64(passed(d.Milestones, n)))
}

// LambdaDecay is LR·Factor(n) for your own function. Functions can't be compared, so Name identifies it: in every
// process of a job the same name must mean the same function.
type LambdaDecay struct {
	Name   string
	LR     float64
	Factor func(n int64) float64
}

// Rate implements [Schedule].
func (d LambdaDecay) Rate(n int64) float64 { return d.LR * d.Factor(n) }

// String is the printed form of the schedule.
func (d LambdaDecay) String() string { return fmt.Sprintf("{LambdaDecay %s LR:%v}", d.Name, d.LR) }

// MultiplicativeDecay is LR·Factor(1)·Factor(2)·…·Factor(n). It takes n calls to know a rate, so let [Every] make n a
// number of epochs when training is long. Name stands for the function as in [LambdaDecay].
type MultiplicativeDecay struct {
	Name   string
	LR     float64
	Factor func(n int64) float64
}

// Rate implements [Schedule].
func (d MultiplicativeDecay) Rate(n int64) float64 {
	rate := d.LR
	for k := int64(1); k <= n; k++ {
		rate *= d.Factor(k)
	}
	return rate
}

// String is the printed form of the schedule.
func (d MultiplicativeDecay) String() string {
	return fmt.Sprintf("{MultiplicativeDecay %s LR:%v}", d.Name, d.LR)
}

// Every counts in units of Steps updates: with the number of batches of an epoch, its schedule moves once an epoch.
type Every struct {
	Steps    int64
	Schedule Schedule
}

// Rate implements [Schedule].
func (e Every) Rate(n int64) float64 { return e.Schedule.Rate(n / max(e.Steps, 1)) }
