package optimizer

import "github.com/gofleet/gofleet/optimizer/lr"

// DecayedAdagrad is [Adagrad] with a decaying accumulator:
//
//	a ← d·a + (1−d)g²
//	w ← w − lr·g / (√a + ε)
type DecayedAdagrad struct {
	// LR is the learning rate; 0 means 0.001.
	LR float64
	// Schedule, if any, gives the learning rate in place of LR.
	Schedule lr.Schedule
	// Decay is d and Epsilon is ε: 0 means 0.95 and 1e-6; a Decay of -1 is none.
	Decay, Epsilon float64
}

// Name implements [Rule].
func (DecayedAdagrad) Name() string { return "decayed_adagrad" }

// StateLen implements [Rule]: one accumulator for each weight.
func (DecayedAdagrad) StateLen(n int) int { return n }

// LearningRate implements [Rated].
func (r DecayedAdagrad) LearningRate() (float64, lr.Schedule) { return or(r.LR, 0.001), r.Schedule }

// Update implements [Rule].
func (r DecayedAdagrad) Update(w, g, a []float32, s *State) {
	lr, eps := s.rate(r.LearningRate()), float32(or(r.Epsilon, 1e-6))
	d := float32(or(r.Decay, 0.95))
	c := 1 - d
	g, a = g[:len(w)], a[:len(w)]
	for i := range w {
		a[i] = d*a[i] + c*g[i]*g[i]
		w[i] -= lr * g[i] / (sqrt(a[i]) + eps)
	}
}

// check returns what is wrong with the settings, as a [Checker] does.
func (r DecayedAdagrad) check() error {
	return checks("decayed_adagrad", checkRate(r.LR, r.Schedule), checkFactor("Decay", r.Decay),
		checkDivisor("Epsilon", r.Epsilon))
}
