package optimizer

import (
	"math"

	"github.com/gofleet/gofleet/optimizer/lr"
)

// Adam keeps decaying means of the gradient and of its square (Kingma and Ba, 2015):
//
//	m ← β₁m + (1−β₁)g
//	v ← β₂v + (1−β₂)g²
//	w ← w − lr·(m/(1−β₁ᵗ)) / (√(v/(1−β₂ᵗ)) + ε)
//
// t is the step of the variable. Rows of an embedding are lazy by default: only the steps that touch a row change it,
// with the exponent t+1 in place of t, as PaddlePaddle computes it. With Dense every row moves in every step, touched
// or not.
type Adam struct {
	// LR is the learning rate; 0 means 0.001.
	LR float64
	// Schedule, if any, gives the learning rate in place of LR.
	Schedule lr.Schedule
	// Beta1, Beta2 and Epsilon: 0 means 0.9, 0.999 and 1e-8. A Beta of -1 is none: without Beta1 Adam is RMSProp
	// with bias correction.
	Beta1, Beta2, Epsilon float64
	// Dense makes the moments of rows decay, and move the rows, also in steps that don't touch them.
	Dense bool

	exact bool //lint:ignore U1000 journals name their job by a sum of what a rule prints, and it always printed this
}

// Name implements [Rule].
func (Adam) Name() string { return "adam" }

// StateLen implements [Rule]: n first moments, then n second moments.
func (Adam) StateLen(n int) int { return 2 * n }

// Sweeps is an optional method of [Rule].
func (r Adam) Sweeps() bool { return r.Dense }

// Rests is an optional method of [Rule]: a row with zero moments is not moved by a zero gradient.
func (Adam) Rests(_, state []float32) bool { return allZero(state) }

// LearningRate implements [Rated].
func (r Adam) LearningRate() (float64, lr.Schedule) { return r.withDefaults().LR, r.Schedule }

// Update implements [Rule].
func (r Adam) Update(w, g, state []float32, s *State) {
	if s.fresh() {
		r.remember(s)
	}
	adamUpdate(w, g, state, s.Memo[2], s.Memo[3], s.Memo[0], s.Memo[1])
}

// remember stores the values that all slices of a step share in the memo: rate, ε, β₁ and β₂.
func (r Adam) remember(s *State) {
	r = r.withDefaults()
	s.Memo[0], s.Memo[1] = r.corrected(s)
	s.Memo[2], s.Memo[3] = float32(r.Beta1), float32(r.Beta2)
}

// corrected is the rate and ε with the bias corrections of the step folded in: lr·√(1−β₂ᵗ)/(1−β₁ᵗ) and ε·√(1−β₂ᵗ).
func (r Adam) corrected(s *State) (rate, eps float32) {
	t := s.Step
	if s.Row && !r.Dense {
		t++
	}
	root := math.Sqrt(bias(r.Beta2, t))
	return float32(s.Rate(r.LearningRate()) * root / bias(r.Beta1, t)), float32(r.Epsilon * root)
}

// bias is the weight that a decaying mean, which began at zero, has gathered after t steps: 1 − βᵗ, with β as the
// float32 of the update. A step that was never set counts as the first.
func bias(beta float64, t int64) float64 {
	return 1 - math.Pow(float64(float32(beta)), float64(max(t, 1)))
}

// check returns what is wrong with the settings, as a [Checker] does.
func (r Adam) check() error {
	return checks("adam", checkRate(r.LR, r.Schedule), checkFactor("Beta1", r.Beta1), checkFactor("Beta2", r.Beta2),
		checkDivisor("Epsilon", r.Epsilon))
}

func (r Adam) withDefaults() Adam {
	r.LR, r.Beta1, r.Beta2, r.Epsilon = or(r.LR, 0.001), or(r.Beta1, 0.9), or(r.Beta2, 0.999), or(r.Epsilon, 1e-8)
	return r
}
