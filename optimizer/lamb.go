package optimizer

import (
	"math"

	"github.com/gofleet/gofleet/optimizer/lr"
)

// Lamb is Adam with a rate of its own for each variable, in proportion to the variable's norm (You et al., 2020):
//
//	r = m/(1−β₁ᵗ) / (√(v/(1−β₂ᵗ)) + ε) + λw        with Adam's m and v
//	w ← w − lr·‖w‖/‖r‖·r                           or lr·r when one of the norms is zero
//
// Without weight decay (of -1, in a [PerParam] for the biases) the step is lr·r too, unless AlwaysAdapt is
// set. The rule sees a variable as a whole: its variables are not cut, and a row of an embedding is a variable.
type Lamb struct {
	// LR is the learning rate; 0 means 0.001.
	LR float64
	// Schedule, if any, gives the learning rate in place of LR.
	Schedule lr.Schedule
	// Beta1, Beta2 and Epsilon: 0 means 0.9, 0.999 and 1e-6; a Beta of -1 is none.
	Beta1, Beta2, Epsilon float64
	// WeightDecay is λ; 0 means 0.01, -1 none.
	WeightDecay float64
	// AlwaysAdapt scales the step by the variable's norm even without weight decay.
	AlwaysAdapt bool

	exact bool //lint:ignore U1000 printed, as in Adam
}

// Name implements [Rule].
func (Lamb) Name() string { return "lamb" }

// StateLen implements [Rule]: n first moments, then n second moments.
func (Lamb) StateLen(n int) int { return 2 * n }

// WholeVariable is an optional method of [Rule].
func (Lamb) WholeVariable() bool { return true }

// LearningRate implements [Rated].
func (r Lamb) LearningRate() (float64, lr.Schedule) { return or(r.LR, 0.001), r.Schedule }

// Update implements [Rule].
func (r Lamb) Update(w, g, state []float32, s *State) {
	r.Beta1, r.Beta2, r.Epsilon = or(r.Beta1, 0.9), or(r.Beta2, 0.999), or(r.Epsilon, 1e-6)
	r.WeightDecay = or(r.WeightDecay, 0.01)
	n := len(w)
	m, v := state[:n], state[n:][:n]
	moments(m, v, g, float32(r.Beta1), float32(r.Beta2))
	d := r.direction(s)
	var ww, rr float64
	for i := range w {
		x := float64(d.of(w[i], m[i], v[i]))
		ww, rr = ww+float64(w[i])*float64(w[i]), rr+x*x
	}
	rate := s.Rate(r.LearningRate())
	if float32(r.WeightDecay) != 0 || r.AlwaysAdapt {
		rate *= trust(math.Sqrt(ww), math.Sqrt(rr))
	}
	for i := range w {
		w[i] -= float32(rate) * d.of(w[i], m[i], v[i])
	}
}

// moments updates the decaying means of the gradient and its square.
func moments(m, v, g []float32, b1, b2 float32) {
	c1, c2 := 1-b1, 1-b2
	m, v = m[:len(g)], v[:len(g)]
	for i, gi := range g {
		m[i] = b1*m[i] + c1*gi
		v[i] = b2*v[i] + c2*gi*gi
	}
}

// trust is the ratio of the lengths of weights and step, 1 if one of them is zero.
func trust(w, step float64) float64 {
	if w == 0 || step == 0 {
		return 1
	}
	return w / step
}

// direction is Lamb's step before it is scaled.
type direction struct{ first, second, eps, decay float32 }

func (r Lamb) direction(s *State) direction {
	return direction{
		first: float32(1 / bias(r.Beta1, s.Step)), second: float32(1 / bias(r.Beta2, s.Step)),
		eps: float32(r.Epsilon), decay: float32(r.WeightDecay),
	}
}

func (d direction) of(w, m, v float32) float32 {
	return m*d.first/(sqrt(v*d.second)+d.eps) + d.decay*w
}

// check returns what is wrong with the settings, as a [Checker] does.
func (r Lamb) check() error {
	return checks("lamb", checkRate(r.LR, r.Schedule), checkFactor("Beta1", r.Beta1), checkFactor("Beta2", r.Beta2),
		checkDivisor("Epsilon", r.Epsilon), checkOrNone("WeightDecay", r.WeightDecay))
}
