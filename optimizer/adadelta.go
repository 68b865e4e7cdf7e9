package optimizer

import "github.com/gofleet/gofleet/optimizer/lr"

// Adadelta measures each step against the steps before it, so that it needs no learning rate (Zeiler, 2012):
//
//	e ← ρe + (1−ρ)g²
//	Δ = √((d+ε)/(e+ε))·g
//	d ← ρd + (1−ρ)Δ²
//	w ← w − lr·Δ
type Adadelta struct {
	// LR scales the steps; 0 means 1, as in the paper.
	LR float64
	// Schedule, if any, gives the learning rate in place of LR.
	Schedule lr.Schedule
	// Rho is ρ and Epsilon is ε: 0 means 0.95 and 1e-6; a Rho of -1 is none.
	Rho, Epsilon float64
}

// Name implements [Rule].
func (Adadelta) Name() string { return "adadelta" }

// StateLen implements [Rule]: n means of squared gradients, then n of squared steps.
func (Adadelta) StateLen(n int) int { return 2 * n }

// LearningRate implements [Rated].
func (r Adadelta) LearningRate() (float64, lr.Schedule) { return or(r.LR, 1), r.Schedule }

// Update implements [Rule].
func (r Adadelta) Update(w, g, state []float32, s *State) {
	lr, eps := s.rate(r.LearningRate()), float32(or(r.Epsilon, 1e-6))
	rho := float32(or(r.Rho, 0.95))
	c, n := 1-rho, len(w)
	g = g[:n]
	e, d := state[:n], state[n:][:n]
	for i := range w {
		e[i] = rho*e[i] + c*g[i]*g[i]
		ratio := sqrt((d[i] + eps) / (e[i] + eps))
		if ratio < 0x1p-62 { // its square has lost digits
			ratio = sqrt(d[i]+eps) / sqrt(e[i]+eps)
		}
		delta := ratio * g[i]
		d[i] = rho*d[i] + c*delta*delta
		w[i] -= lr * delta
	}
}

// check returns what is wrong with the settings, as a [Checker] does.
func (r Adadelta) check() error {
	return checks("adadelta", checkRate(r.LR, r.Schedule), checkFactor("Rho", r.Rho),
		checkDivisor("Epsilon", r.Epsilon))
}
