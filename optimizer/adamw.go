package optimizer

import "github.com/gofleet/gofleet/optimizer/lr"

// AdamW is [Adam] with weight decay beside the gradient, not in it (Loshchilov and Hutter, 2019):
//
//	w ← w − lr·λ·w, then Adam's step
//
// A row of an embedding decays in the steps that touch it.
type AdamW struct {
	// LR is the learning rate; 0 means 0.001.
	LR float64
	// Schedule, if any, gives the learning rate in place of LR.
	Schedule lr.Schedule
	// Beta1, Beta2 and Epsilon: 0 means 0.9, 0.999 and 1e-8; a Beta of -1 is none.
	Beta1, Beta2, Epsilon float64
	// WeightDecay is λ; 0 means 0.01, -1 none. Without decay the rule is Adam.
	WeightDecay float64
}

// Name implements [Rule].
func (AdamW) Name() string { return "adamw" }

// StateLen implements [Rule]: Adam's moments.
func (AdamW) StateLen(n int) int { return 2 * n }

// LearningRate implements [Rated].
func (r AdamW) LearningRate() (float64, lr.Schedule) { return or(r.LR, 0.001), r.Schedule }

// Update implements [Rule].
func (r AdamW) Update(w, g, state []float32, s *State) {
	if s.fresh() {
		a := r.adam()
		s.Memo[0], s.Memo[1] = a.corrected(s)
		s.Memo[2] = float32(1 - s.Rate(r.LearningRate())*or(r.WeightDecay, 0.01))
	}
	keep := s.Memo[2]
	for i := range w {
		w[i] *= keep
	}
	adamUpdate(w, g, state, float32(or(r.Beta1, 0.9)), float32(or(r.Beta2, 0.999)), s.Memo[0], s.Memo[1])
}

func (r AdamW) adam() Adam {
	return Adam{LR: r.LR, Schedule: r.Schedule, Beta1: r.Beta1, Beta2: r.Beta2, Epsilon: r.Epsilon}.withDefaults()
}

// check returns what is wrong with the settings, as a [Checker] does.
func (r AdamW) check() error {
	return checks("adamw", checkRate(r.LR, r.Schedule), checkFactor("Beta1", r.Beta1), checkFactor("Beta2", r.Beta2),
		checkDivisor("Epsilon", r.Epsilon), checkOrNone("WeightDecay", r.WeightDecay))
}
