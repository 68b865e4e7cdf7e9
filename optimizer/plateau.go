package optimizer

// ReduceOnPlateau lowers a rate when a metric, such as the loss of an evaluation, has stopped getting better. It isn't a
// [Schedule], since it depends on what was measured: whoever measures gives its rate to the job. It is used by one goroutine, in a job
// of several workers that of worker 0, with the metric of all (fleet/metrics).
//
//	plateau := optimizer.ReduceOnPlateau{LR: 1e-3} // the LR of the rule
//	for epoch := range epochs {
//		…                                      // train, then evaluate
//		plateau.Step(loss)
//		if f.IsFirstWorker() {
//			err = f.SetRate(ctx, plateau.Rate())
//		}
//	}
//
// For a rule with a Schedule, or in a job that goes on from a checkpoint whose rate was set, LR is a factor, the fleet's RateFactor (1 at
// first), and SetRateFactor takes the place of SetRate. Trainers of optimizer/local have the same methods, without a context.
type ReduceOnPlateau struct {
	// LR is the first rate.
	LR float64
	// Max says that larger metrics are better.
	Max bool
	// Factor multiplies the rate each time; 0 means 0.1.
	Factor float64
	// Patience is how many metrics in a row may be no better before the rate falls; 0 means 10, and a negative one none.
	Patience int
	// Threshold is how much better counts: relative to the best metric, or Absolute; 0 means 0.0001.
	Threshold float64
	Absolute  bool
	// Cooldown is how many metrics are ignored after the rate fell.
	Cooldown int
	// Min is the lowest rate. A fall by less than Epsilon (0 means 1e-8) is left out.
	Min, Epsilon float64

	rate    float64
	best    float64
	started bool
	bad     int
	cooling int
}

// Rate is the learning rate now.
func (p *ReduceOnPlateau) Rate() float64 {
	if !p.started {
		return p.LR
	}
	return p.rate
}

// Step takes a metric.
func (p *ReduceOnPlateau) Step(metric float64) {
	if !p.started {
		p.started, p.rate, p.best = true, p.LR, metric
		return
	}
	switch {
	case p.cooling > 0:
		p.cooling--
	case p.better(metric):
		p.best, p.bad = metric, 0
	default:
		p.bad++
		p.reduce()
	}
}

func (p *ReduceOnPlateau) better(metric float64) bool {
	margin := or(p.Threshold, 0.0001)
	if !p.Absolute {
		margin *= p.best
	}
	if p.Max {
		return metric > p.best+margin
	}
	return metric < p.best-margin
}

// reduce lowers the rate when patience is at its end.
func (p *ReduceOnPlateau) reduce() {
	patience := p.Patience
	if patience == 0 {
		patience = 10
	}
	if p.bad <= max(patience, 0) {
		return
	}
	p.cooling, p.bad = p.Cooldown, 0
	if lower := max(p.rate*or(p.Factor, 0.1), p.Min); p.rate-lower > or(p.Epsilon, 1e-8) {
		p.rate = lower
	}
}
