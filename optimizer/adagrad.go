package optimizer

import "github.com/gofleet/gofleet/optimizer/lr"

// Adagrad divides each element's rate by the root of all its squared gradients (Duchi, Hazan and Singer, 2011):
//
//	a ← a + g²
//	w ← w − lr·g / (√a + ε)
type Adagrad struct {
	// LR is the learning rate; 0 means 0.001.
	LR float64
	// Schedule, if any, gives the learning rate in place of LR.
	Schedule lr.Schedule
	// Epsilon keeps the first steps finite; 0 means 1e-6.
	Epsilon float64
	// InitialAccumulator is the value of a before the first update.
	InitialAccumulator float64
}

// Name implements [Rule].
func (Adagrad) Name() string { return "adagrad" }

// StateLen implements [Rule]: one accumulator for each weight.
func (Adagrad) StateLen(n int) int { return n }

// InitState is an optional method of [Rule].
func (r Adagrad) InitState(state []float32) { Constant{float32(r.InitialAccumulator)}.Fill(state, 0) }

// LearningRate implements [Rated].
func (r Adagrad) LearningRate() (float64, lr.Schedule) { return or(r.LR, 0.001), r.Schedule }

// Update implements [Rule].
func (r Adagrad) Update(w, g, state []float32, s *State) {
	lr, eps := s.rate(r.LearningRate()), float32(or(r.Epsilon, 1e-6))
	g, state = g[:len(w)], state[:len(w)]
	for i := range w {
		gi := g[i]
		a := state[i] + gi*gi
		state[i] = a
		w[i] -= lr * gi / (sqrt(a) + eps)
	}
}

// check returns what is wrong with the settings, as a [Checker] does.
func (r Adagrad) check() error {
	return checks("adagrad", checkRate(r.LR, r.Schedule), checkDivisor("Epsilon", r.Epsilon),
		checkPositive("InitialAccumulator", r.InitialAccumulator))
}
