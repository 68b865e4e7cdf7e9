package optimizer

import "github.com/gofleet/gofleet/optimizer/lr"

// Momentum accumulates gradients with decay (Polyak, 1964):
//
//	v ← μv + g
//	w ← w − lr·v             or, by Nesterov's lookahead, w ← w − lr·(g + μv)
//
// Rows of an embedding are lazy: only the steps that touch a row decay its v.
type Momentum struct {
	// LR is the learning rate; 0 means 0.001.
	LR float64
	// Schedule, if any, gives the learning rate in place of LR.
	Schedule lr.Schedule
	// Momentum is μ; 0 means 0.9, -1 none. Without momentum the rule is SGD.
	Momentum float64
	// Nesterov looks ahead along v.
	Nesterov bool
}

// Name implements [Rule].
func (Momentum) Name() string { return "momentum" }

// StateLen implements [Rule]: n velocities.
func (Momentum) StateLen(n int) int { return n }

// LearningRate implements [Rated].
func (r Momentum) LearningRate() (float64, lr.Schedule) { return or(r.LR, 0.001), r.Schedule }

// Update implements [Rule].
func (r Momentum) Update(w, g, v []float32, s *State) {
	lr, mu := s.rate(r.LearningRate()), float32(or(r.Momentum, 0.9))
	g, v = g[:len(w)], v[:len(w)]
	if r.Nesterov {
		for i := range w {
			v[i] = mu*v[i] + g[i]
			w[i] -= lr * (g[i] + mu*v[i])
		}
		return
	}
	for i := range w {
		v[i] = mu*v[i] + g[i]
		w[i] -= lr * v[i]
	}
}

// check returns what is wrong with the settings, as a [Checker] does.
func (r Momentum) check() error {
	return checks("momentum", checkRate(r.LR, r.Schedule), checkFactor("Momentum", r.Momentum))
}
