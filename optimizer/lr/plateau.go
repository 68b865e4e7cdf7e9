package lr

import "math"

// ReduceOnPlateau lowers a rate when a metric, such as the loss of an evaluation, has stopped improving. It isn't a
// [Schedule], since it depends on a measurement: the program that measures passes its rate to the job. Use it from one
// goroutine and, in a job of several workers, on worker 0 with the metric of all workers (fleet/metrics).
//
//	plateau := lr.ReduceOnPlateau{LR: 1e-3} // the LR of the rule
//	for epoch := range epochs {
//		…                                      // train, then evaluate
//		plateau.Step(loss)
//		if f.IsFirstWorker() {
//			err = f.SetRate(ctx, plateau.Rate())
//		}
//	}
//
// For a rule with a Schedule, or in a job that resumes from a checkpoint whose rate was set, let LR be a factor, the
// fleet's RateFactor (1 at first), and call SetRateFactor instead of SetRate. Trainers of optimizer/local have the same
// methods, without a context.
type ReduceOnPlateau struct {
	// LR is the first rate.
	LR float64
	// Max says that larger metrics are better.
	Max bool
	// Factor multiplies the rate each time; 0 means 0.1.
	Factor float64
	// Patience is how many metrics in a row may be no better before the rate falls; 0 means 10, and a negative value
	// none.
	Patience int
	// Threshold is how much better counts: relative to the best metric, or Absolute; 0 means 0.0001.
	Threshold float64
	Absolute  bool
	// Cooldown is how many metrics are ignored after the rate fell.
	Cooldown int
	// Min is the lowest rate. A fall by less than Epsilon (0 means 1e-8) is left out.
	Min, Epsilon float64

	now PlateauState
}

// PlateauState is the state of a [ReduceOnPlateau], to be saved by a job that resumes.
type PlateauState struct {
	// Rate is the learning rate now; 0 is the first.
	Rate float64
	// Best is the best metric, Measured whether there was any, and Bad how many in a row were no better.
	Best     float64
	Measured bool
	Bad      int
	// Cooling is how many metrics are yet to be ignored.
	Cooling int
}

// State returns the current state.
func (p *ReduceOnPlateau) State() PlateauState { return p.now }

// SetState restores a saved state.
func (p *ReduceOnPlateau) SetState(s PlateauState) { p.now = s }

// Rate is the learning rate now.
func (p *ReduceOnPlateau) Rate() float64 { return or(p.now.Rate, p.LR) }

// Step records a metric. A metric that is not finite is worse than any other.
func (p *ReduceOnPlateau) Step(metric float64) {
	s := &p.now
	s.Rate = p.Rate()
	finite := !math.IsNaN(metric) && !math.IsInf(metric, 0)
	switch {
	case finite && !s.Measured:
		s.Best, s.Measured, s.Bad = metric, true, 0
	case s.Cooling > 0:
		s.Cooling--
	case finite && p.better(metric):
		s.Best, s.Bad = metric, 0
	default:
		s.Bad++
		p.reduce()
	}
}

func (p *ReduceOnPlateau) better(metric float64) bool {
	margin := or(p.Threshold, 0.0001)
	if !p.Absolute {
		margin *= p.now.Best
	}
	if p.Max {
		return metric > p.now.Best+margin
	}
	return metric < p.now.Best-margin
}

// reduce lowers the rate when the patience is used up.
func (p *ReduceOnPlateau) reduce() {
	patience := p.Patience
	if patience == 0 {
		patience = 10
	}
	if p.now.Bad <= max(patience, 0) {
		return
	}
	p.now.Cooling, p.now.Bad = p.Cooldown, 0
	if lower := max(p.now.Rate*or(p.Factor, 0.1), p.Min); p.now.Rate-lower > or(p.Epsilon, 1e-8) {
		p.now.Rate = lower
	}
}
