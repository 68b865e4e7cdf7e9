package optimizer

// SGD is stochastic gradient descent:
//
//	w ← w − lr·g
type SGD struct {
	// LR is the learning rate; 0 means 0.001.
	LR float64
}

// Name implements [Rule].
func (SGD) Name() string { return "sgd" }

// StateLen implements [Rule]: SGD keeps nothing.
func (SGD) StateLen(int) int { return 0 }

// Update implements [Rule].
func (r SGD) Update(w, g, _ []float32, _ *State) {
	lr := float32(or(r.LR, 0.001))
	g = g[:len(w)]
	for i := range w {
		w[i] -= lr * g[i]
	}
}

// or is v, or the default when v is zero.
func or(v, def float64) float64 {
	if v == 0 {
		return def
	}
	return v
}
