package optimizer

import (
	"math"

	"github.com/gofleet/gofleet/optimizer/lr"
)

// SparseAdam is [Adam] with a step counter in every row, so that the bias correction counts the row's own updates:
//
//	m ← β₁m + (1−β₁)g
//	v ← β₂v + (1−β₂)g²
//	w ← clamp(w − lr·√(1−β₂ᵏ)/(1−β₁ᵏ)·m/(√v + ε))     at the row's k-th update
//
// It is for rows: a dense variable would be placed whole.
type SparseAdam struct {
	// LR is the learning rate; 0 means 0.001.
	LR float64
	// Schedule, if any, gives the learning rate in place of LR.
	Schedule lr.Schedule
	// Beta1, Beta2 and Epsilon: 0 means 0.9, 0.999 and 1e-8; a Beta of -1 is none.
	Beta1, Beta2, Epsilon float64
	Bounds                Bounds
}

// Name implements [Rule].
func (SparseAdam) Name() string { return "sparse_adam" }

// StateLen implements [Rule]: n first moments, n second moments, and the powers of β₁ and β₂ for the next update.
func (SparseAdam) StateLen(n int) int { return 2*n + 2 }

// WholeVariable is an optional method of [Rule].
func (SparseAdam) WholeVariable() bool { return true }

// InitState is an optional method of [Rule]: the powers begin at β.
func (r SparseAdam) InitState(state []float32) {
	clear(state)
	powers := state[len(state)-2:]
	powers[0], powers[1] = float32(or(r.Beta1, 0.9)), float32(or(r.Beta2, 0.999))
}

// LearningRate implements [Rated].
func (r SparseAdam) LearningRate() (float64, lr.Schedule) { return or(r.LR, 0.001), r.Schedule }

// Update implements [Rule].
func (r SparseAdam) Update(w, g, state []float32, s *State) {
	b1, b2, eps := float32(or(r.Beta1, 0.9)), float32(or(r.Beta2, 0.999)), float32(or(r.Epsilon, 1e-8))
	n := len(w)
	m, v, powers := state[:n], state[n:][:n], state[2*n:][:2]
	moments(m, v, g[:n], b1, b2)
	rate := s.rate(r.LearningRate()) * float32(math.Sqrt(1-float64(powers[1]))/(1-float64(powers[0])))
	low, high := r.Bounds.limits()
	for i := range w {
		w[i] = clamp(w[i]-rate*(m[i]/(sqrt(v[i])+eps)), low, high)
	}
	powers[0] *= b1
	powers[1] *= b2
}

// check returns what is wrong with the settings, as a [Checker] does.
func (r SparseAdam) check() error {
	return checks("sparse_adam", checkRate(r.LR, r.Schedule), checkFactor("Beta1", r.Beta1),
		checkFactor("Beta2", r.Beta2),
		checkDivisor("Epsilon", r.Epsilon), r.Bounds.check())
}
