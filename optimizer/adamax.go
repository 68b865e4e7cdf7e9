package optimizer

import "github.com/gofleet/gofleet/optimizer/lr"

// Adamax is Adam with the largest recent gradient in place of the root of the second moment (Kingma and Ba, 2015):
//
//	m ← β₁m + (1−β₁)g
//	u ← max(β₂u + ε, |g|)
//	w ← w − lr/(1−β₁ᵗ)·m/u
type Adamax struct {
	// LR is the learning rate; 0 means 0.001.
	LR float64
	// Schedule, if any, gives the learning rate in place of LR.
	Schedule lr.Schedule
	// Beta1, Beta2 and Epsilon: 0 means 0.9, 0.999 and 1e-8; a Beta of -1 is none.
	Beta1, Beta2, Epsilon float64
}

// Name implements [Rule].
func (Adamax) Name() string { return "adamax" }

// StateLen implements [Rule]: n means, then n norms.
func (Adamax) StateLen(n int) int { return 2 * n }

// LearningRate implements [Rated].
func (r Adamax) LearningRate() (float64, lr.Schedule) { return or(r.LR, 0.001), r.Schedule }

// Update implements [Rule].
func (r Adamax) Update(w, g, state []float32, s *State) {
	beta1 := or(r.Beta1, 0.9)
	if s.fresh() {
		s.Memo[0] = float32(s.Rate(r.LearningRate()) / bias(beta1, s.Step))
	}
	rate, b1, b2, eps := s.Memo[0], float32(beta1), float32(or(r.Beta2, 0.999)), float32(or(r.Epsilon, 1e-8))
	c1, n := 1-b1, len(w)
	g = g[:n]
	m, u := state[:n], state[n:][:n]
	for i := range w {
		m[i] = b1*m[i] + c1*g[i]
		u[i] = max(b2*u[i]+eps, abs(g[i]))
		w[i] -= rate * (m[i] / u[i])
	}
}

// check returns what is wrong with the settings, as a [Checker] does.
func (r Adamax) check() error {
	return checks("adamax", checkRate(r.LR, r.Schedule), checkFactor("Beta1", r.Beta1), checkFactor("Beta2", r.Beta2),
		checkDivisor("Epsilon", r.Epsilon))
}
