package optimizer

import "github.com/gofleet/gofleet/optimizer/lr"

// SGD is stochastic gradient descent:
//
//	w ← w − lr·g
type SGD struct {
	// LR is the learning rate; 0 means 0.001.
	LR float64
	// Schedule, if any, gives the learning rate in place of LR.
	Schedule lr.Schedule
}

// Name implements [Rule].
func (SGD) Name() string { return "sgd" }

// StateLen implements [Rule]: SGD keeps nothing.
func (SGD) StateLen(int) int { return 0 }

// LearningRate implements [Rated].
func (r SGD) LearningRate() (float64, lr.Schedule) { return or(r.LR, 0.001), r.Schedule }

// Update implements [Rule].
func (r SGD) Update(w, g, _ []float32, s *State) {
	sgd(w, g[:len(w)], s.rate(r.LearningRate()))
}

// check returns what is wrong with the settings, as a [Checker] does.
func (r SGD) check() error { return checks("sgd", checkRate(r.LR, r.Schedule)) }
