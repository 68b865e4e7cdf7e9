package optimizer

import (
	"math"

	"github.com/gofleet/gofleet/optimizer/lr"
)

// Lars is momentum with a rate of its own for each variable (You, Gitman and Ginsburg, 2017):
//
//	rate = lr·c·‖w‖ / (‖g‖ + λ‖w‖ + ε)             or lr when one of the norms is zero
//	v ← μv + rate·(g + λw)
//	w ← w − v
//
// It sees a variable as a whole: its variables are not cut, and a row of an embedding is a variable.
type Lars struct {
	// LR is the learning rate; 0 means 0.001.
	LR float64
	// Schedule, if any, gives the learning rate in place of LR.
	Schedule lr.Schedule
	// Momentum is μ; 0 means 0.9, -1 none.
	Momentum float64
	// Coeff is c and WeightDecay λ: 0 means 0.001 and 0.0005; a WeightDecay of -1 is none.
	Coeff, WeightDecay float64
	// Epsilon is ε.
	Epsilon float64
}

// Name implements [Rule].
func (Lars) Name() string { return "lars_momentum" }

// StateLen implements [Rule]: n velocities.
func (Lars) StateLen(n int) int { return n }

// WholeVariable is an optional method of [Rule].
func (Lars) WholeVariable() bool { return true }

// LearningRate implements [Rated].
func (r Lars) LearningRate() (float64, lr.Schedule) { return or(r.LR, 0.001), r.Schedule }

// Update implements [Rule].
func (r Lars) Update(w, g, v []float32, s *State) {
	decay := or(r.WeightDecay, 0.0005)
	rate := float32(r.rate(norm(w), norm(g), decay, s))
	mu, lambda := float32(or(r.Momentum, 0.9)), float32(decay)
	g, v = g[:len(w)], v[:len(w)]
	for i := range w {
		v[i] = mu*v[i] + rate*(g[i]+lambda*w[i])
		w[i] -= v[i]
	}
}

func (r Lars) rate(w, g, decay float64, s *State) float64 {
	lr := s.Rate(r.LearningRate())
	if w == 0 || g == 0 {
		return lr
	}
	return lr * or(r.Coeff, 0.001) * w / (g + decay*w + r.Epsilon)
}

// norm is the Euclidean length.
func norm(x []float32) float64 { return math.Sqrt(squares(x)) }

func squares(x []float32) float64 {
	var sum float64
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return sum
}

// check returns what is wrong with the settings, as a [Checker] does.
func (r Lars) check() error {
	return checks("lars_momentum", checkRate(r.LR, r.Schedule), checkFactor("Momentum", r.Momentum),
		checkPositive("Coeff", r.Coeff),
		checkOrNone("WeightDecay", r.WeightDecay), checkPositive("Epsilon", r.Epsilon))
}
