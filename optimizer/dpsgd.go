package optimizer

import (
	"math/rand/v2"

	"github.com/gofleet/gofleet/optimizer/lr"
)

// DPSGD adds noise for differential privacy (Abadi et al., 2016):
//
//	w ← w − lr·(g/max(1, ‖g‖/clip) + N(0, σ)/batch)
//
// The noise of each weight comes from an unpredictable generator, so two runs differ. The rule needs whole variables:
// they are not split over servers, and a row of an embedding counts as a variable. Collective jobs can't use it, since
// each worker would draw different noise.
type DPSGD struct {
	// LR is the learning rate; 0 means 0.001.
	LR float64
	// Schedule, if any, gives the learning rate in place of LR.
	Schedule lr.Schedule
	// Clip is the norm above which a gradient is scaled down; 0 means 0.9.
	Clip float64
	// BatchSize divides the noise; 0 means 0.999.
	BatchSize float64
	// Sigma is the noise's standard deviation; 0 means 1e-8, -1 none.
	Sigma float64
}

// Name implements [Rule].
func (DPSGD) Name() string { return "dpsgd" }

// StateLen implements [Rule]: DPSGD keeps nothing.
func (DPSGD) StateLen(int) int { return 0 }

// WholeVariable is an optional method of [Rule].
func (DPSGD) WholeVariable() bool { return true }

// Random is an optional method of [Rule].
func (DPSGD) Random() bool { return true }

// LearningRate implements [Rated].
func (r DPSGD) LearningRate() (float64, lr.Schedule) { return or(r.LR, 0.001), r.Schedule }

// Update implements [Rule].
func (r DPSGD) Update(w, g, _ []float32, s *State) {
	lr := s.Rate(r.LearningRate())
	scale := float32(lr / max(1, norm(g)/or(r.Clip, 0.9)))
	noise := lr * or(r.Sigma, 1e-8) / or(r.BatchSize, 0.999)
	g = g[:len(w)]
	for i := range w {
		w[i] -= scale*g[i] + float32(noise*rand.NormFloat64())
	}
}

// check returns what is wrong with the settings, as a [Checker] does.
func (r DPSGD) check() error {
	return checks("dpsgd", checkRate(r.LR, r.Schedule), checkPositive("Clip", r.Clip),
		checkPositive("BatchSize", r.BatchSize),
		checkOrNone("Sigma", r.Sigma))
}
