package optimizer

import (
	"math"

	"github.com/gofleet/gofleet/optimizer/lr"
)

// SparseSharedAdam is [SparseAdam] with two moments and not two for each weight, so that a row of any width keeps four
// numbers: what an update makes of them weight by weight is averaged over the row.
//
//	mᵢ = β₁m + (1−β₁)gᵢ,  vᵢ = β₂v + (1−β₂)gᵢ²
//	wᵢ ← clamp(wᵢ − lr·√(1−β₂ᵏ)/(1−β₁ᵏ)·mᵢ/(√vᵢ + ε))     at the row's k-th update
//	m ← mean(mᵢ),  v ← mean(vᵢ)
//
// It is for rows: a dense variable would be placed whole.
type SparseSharedAdam struct {
	// LR is the learning rate; 0 means 0.001.
	LR float64
	// Schedule, if any, gives the learning rate in place of LR.
	Schedule lr.Schedule
	// Beta1, Beta2 and Epsilon: 0 means 0.9, 0.999 and 1e-8; a Beta of -1 is none.
	Beta1, Beta2, Epsilon float64
	Bounds                Bounds
}

// Name implements [Rule].
func (SparseSharedAdam) Name() string { return "sparse_shared_adam" }

// StateLen implements [Rule]: the two moments, and the powers of β₁ and β₂ for the next update.
func (SparseSharedAdam) StateLen(int) int { return 4 }

// WholeVariable is an optional method of [Rule].
func (SparseSharedAdam) WholeVariable() bool { return true }

// InitState is an optional method of [Rule]: the powers begin at β.
func (r SparseSharedAdam) InitState(state []float32) { r.alone().InitState(state) }

// alone is the rule with the same settings and separate moments for each weight.
func (r SparseSharedAdam) alone() SparseAdam { return SparseAdam(r) }

// LearningRate implements [Rated].
func (r SparseSharedAdam) LearningRate() (float64, lr.Schedule) { return or(r.LR, 0.001), r.Schedule }

// Update implements [Rule].
func (r SparseSharedAdam) Update(w, g, state []float32, s *State) {
	if len(w) == 0 {
		return
	}
	b1, b2, eps := or(r.Beta1, 0.9), or(r.Beta2, 0.999), or(r.Epsilon, 1e-8)
	m, v, powers := b1*float64(state[0]), b2*float64(state[1]), state[2:4]
	rate := float64(s.rate(r.LearningRate())) * math.Sqrt(1-float64(powers[1])) / (1 - float64(powers[0]))
	low, high := r.Bounds.limits()
	var sumM, sumV float64
	for i, gi := range g[:len(w)] {
		mi, vi := m+(1-b1)*float64(gi), v+(1-b2)*float64(gi)*float64(gi)
		w[i] = clamp(w[i]-float32(rate*mi/(math.Sqrt(vi)+eps)), low, high)
		sumM, sumV = sumM+mi, sumV+vi
	}
	state[0], state[1] = float32(sumM/float64(len(w))), float32(sumV/float64(len(w)))
	powers[0] *= float32(b1)
	powers[1] *= float32(b2)
}

// check returns what is wrong with the settings, as a [Checker] does.
func (r SparseSharedAdam) check() error {
	return checks("sparse_shared_adam", checkRate(r.LR, r.Schedule), checkFactor("Beta1", r.Beta1),
		checkFactor("Beta2", r.Beta2),
		checkDivisor("Epsilon", r.Epsilon), r.Bounds.check())
}
