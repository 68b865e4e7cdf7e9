package lr

import "math"

// ReduceOnPlateau lowers a rate when a metric, such as the loss of an evaluation, has stopped getting better. It isn't
// a [Schedule], since it depends on what was measured: whoever measures gives its rate to the job. It is used by one
// goroutine, in a job of several workers that of worker 0, with the metric of all (fleet/metrics).
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
// For a rule with a Schedule, or in a job that goes on from a checkpoint whose rate was set, LR is a factor, the
// fleet's RateFactor (1 at first), and SetRateFactor takes the place of SetRate. Trainers of optimizer/local have the
// same methods, without a context.
type ReduceOnPlateau struct {
	// LR is the first rate.
	LR float64
	// Max says that larger metrics are better.
	Max bool
	// Factor multiplies the rate each time; 0 means 0.1.
	Factor float64
	// Patience is how many metrics in a row may be no better before the rate falls; 0 means 10, and a negative one
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

// PlateauState is what a [ReduceOnPlateau] knows of the metrics that it was given, for a job that goes on.
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

// State is what it knows.
func (p *ReduceOnPlateau) State() PlateauState { return p.now }

// SetState goes on from what another knew.
func (p *ReduceOnPlateau) SetState(s PlateauState) { p.now = s }

// Rate is the learning rate now.
func (p *ReduceOnPlateau) Rate() float64 { return or(p.now.Rate, p.LR) }

// Step takes a metric. One that is no finite number is worse than any.
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

// reduce lowers the rate when patience is at its end.
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
