package optimizer

import "github.com/gofleet/gofleet/optimizer/lr"

// RMSProp divides the gradient by the root of its recent mean square (Hinton, 2012):
//
//	a ← ρa + (1−ρ)g²
//	v ← μv + lr·g / √(a+ε)
//	w ← w − v
//
// Centered, a is taken about the mean: b ← ρb + (1−ρ)g, and the root is that of a − b² + ε.
type RMSProp struct {
	// LR is the learning rate; 0 means 0.001.
	LR float64
	// Schedule, if any, gives the learning rate in place of LR.
	Schedule lr.Schedule
	// Rho is ρ and Epsilon is ε: 0 means 0.95 and 1e-6; a Rho of -1 is none.
	Rho, Epsilon float64
	// Momentum is μ, 0 for none.
	Momentum float64
	// Centered uses the variance in place of the mean square.
	Centered bool
}

// Name implements [Rule].
func (RMSProp) Name() string { return "rmsprop" }

// StateLen implements [Rule]: n mean squares, then n velocities, then, centered, n means.
func (r RMSProp) StateLen(n int) int {
	if r.Centered {
		return 3 * n
	}
	return 2 * n
}

// LearningRate implements [Rated].
func (r RMSProp) LearningRate() (float64, lr.Schedule) { return or(r.LR, 0.001), r.Schedule }

// Update implements [Rule].
func (r RMSProp) Update(w, g, state []float32, s *State) {
	lr, rho := s.rate(r.LearningRate()), float32(or(r.Rho, 0.95))
	eps, mu := float32(or(r.Epsilon, 1e-6)), float32(or(r.Momentum, 0))
	c, n := 1-rho, len(w)
	g = g[:n]
	a, v := state[:n], state[n:][:n]
	if r.Centered {
		b := state[2*n:][:n]
		for i := range w {
			a[i] = rho*a[i] + c*g[i]*g[i]
			b[i] = rho*b[i] + c*g[i]
			variance := a[i] - b[i]*b[i] + eps
			if variance <= 0 { // by rounding: a − b² of equal gradients is 0
				variance = eps
			}
			v[i] = mu*v[i] + lr*g[i]/sqrt(variance)
			w[i] -= v[i]
		}
		return
	}
	for i := range w {
		a[i] = rho*a[i] + c*g[i]*g[i]
		v[i] = mu*v[i] + lr*g[i]/sqrt(a[i]+eps)
		w[i] -= v[i]
	}
}

// check returns what is wrong with the settings, as a [Checker] does.
func (r RMSProp) check() error {
	return checks("rmsprop", checkRate(r.LR, r.Schedule), checkFactor("Rho", r.Rho), checkDivisor("Epsilon", r.Epsilon),
		checkFactor("Momentum", r.Momentum))
}
