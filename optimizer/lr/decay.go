package lr

import "math"

// ExponentialDecay is LR·Gammaⁿ.
type ExponentialDecay struct {
	LR, Gamma float64
	// Steps stretches the decay: Gamma is reached after so many updates; 0 means 1. With Staircase the rate falls only
	// then.
	Steps     int64
	Staircase bool
}

// Rate implements [Schedule].
func (d ExponentialDecay) Rate(n int64) float64 {
	return d.LR * math.Pow(d.Gamma, stretched(n, d.Steps, d.Staircase))
}

// NaturalExpDecay is LR·e^(−Gamma·n).
type NaturalExpDecay struct {
	LR, Gamma float64
	// Steps stretches the decay, as in [ExponentialDecay].
	Steps     int64
	Staircase bool
}

// Rate implements [Schedule].
func (d NaturalExpDecay) Rate(n int64) float64 {
	return d.LR * math.Exp(-d.Gamma*stretched(n, d.Steps, d.Staircase))
}

// InverseTimeDecay is LR/(1 + Gamma·n).
type InverseTimeDecay struct {
	LR, Gamma float64
	// Steps stretches the decay, as in [ExponentialDecay].
	Steps     int64
	Staircase bool
}

// Rate implements [Schedule].
func (d InverseTimeDecay) Rate(n int64) float64 {
	return d.LR / (1 + d.Gamma*stretched(n, d.Steps, d.Staircase))
}

// stretched is n in units of steps, rounded down for a staircase.
func stretched(n, steps int64, staircase bool) float64 {
	x := float64(n) / float64(max(steps, 1))
	if staircase {
		return math.Floor(x)
	}
	return x
}

// defaultEnd is the last rate of the schedules that have a default for it.
const defaultEnd = 0.0001

// PolynomialDecay goes from LR to End within Steps updates: (LR−End)·(1−n/Steps)^Power + End. Afterwards it stays
// there, or, with Cycle, doubles Steps, trebles them and so on, so that the rate rises again.
type PolynomialDecay struct {
	LR    float64
	Steps int64
	// End is the last rate; 0 means 0.0001, and -1 means 0.
	End float64
	// Power is the form of the curve; 0 means 1, a line.
	Power float64
	Cycle bool
}

// Rate implements [Schedule].
func (d PolynomialDecay) Rate(n int64) float64 {
	steps, x := float64(max(d.Steps, 1)), float64(n)
	if d.Cycle {
		steps *= max(1, math.Ceil(x/steps))
	}
	end := or(d.End, defaultEnd)
	return (d.LR-end)*math.Pow(1-min(x, steps)/steps, or(d.Power, 1)) + end
}

// NoamDecay warms up in a line and falls with the root of n (Vaswani et al., 2017):
//
//	LR·Model^−½·min(n^−½, n·Warmup^−1.5)
type NoamDecay struct {
	// LR scales the curve; 0 means 1.
	LR float64
	// Model is the width of the model, Warmup the number of updates to the peak.
	Model, Warmup int64
}

// Rate implements [Schedule].
func (d NoamDecay) Rate(n int64) float64 {
	if n == 0 {
		return 0
	}
	x := float64(n)
	return or(d.LR, 1) / math.Sqrt(float64(d.Model)) * min(1/math.Sqrt(x), x*math.Pow(float64(d.Warmup), -1.5))
}

// LinearWarmup goes from Start to End in a line within Steps updates and then on with After, which counts from there; a
// nil After stays at End.
type LinearWarmup struct {
	Steps      int64
	Start, End float64
	After      Schedule
}

// Rate implements [Schedule].
func (d LinearWarmup) Rate(n int64) float64 {
	switch {
	case n < d.Steps:
		return d.Start + (or(d.End, 0)-d.Start)*float64(n)/float64(d.Steps)
	case d.After != nil:
		return d.After.Rate(n - d.Steps)
	}
	return or(d.End, 0)
}

// LinearLR goes from LR·Start to LR·End in a line within Steps updates and stays there.
type LinearLR struct {
	LR    float64
	Steps int64
	// Start and End are factors: 0 means 1/3 and 1, and -1 means 0.
	Start, End float64
}

// Rate implements [Schedule].
func (d LinearLR) Rate(n int64) float64 {
	start, end := d.factors()
	part := float64(min(n, d.Steps)) / float64(max(d.Steps, 1))
	return d.LR * (start + (end-start)*part)
}

func (d LinearLR) factors() (start, end float64) { return or(d.Start, 1.0/3), or(d.End, 1) }
