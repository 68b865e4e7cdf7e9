package optimizer

import (
	"fmt"
	"math"

	"github.com/gofleet/gofleet/optimizer/lr"
)

// Bounds keep every weight of a row between two numbers after each update. The zero value means −10 and 10.
type Bounds struct{ Low, High float64 }

func (b Bounds) limits() (low, high float32) {
	if b == (Bounds{}) {
		return -10, 10
	}
	return float32(b.Low), float32(b.High)
}

func (b Bounds) check() error {
	if b == (Bounds{}) || b.Low < b.High {
		return nil
	}
	return fmt.Errorf("Bounds are [%v, %v]: the low one must be below the high one", b.Low, b.High)
}

// clamp returns a NaN unchanged, so that it shows.
func clamp(x, low, high float32) float32 { return min(max(x, low), high) }

// SparseNaive is [SGD] for rows, within bounds:
//
//	w ← clamp(w − lr·g)
type SparseNaive struct {
	// LR is the learning rate; 0 means 0.05.
	LR float64
	// Schedule, if any, gives the learning rate in place of LR.
	Schedule lr.Schedule
	Bounds   Bounds
}

// Name implements [Rule].
func (SparseNaive) Name() string { return "sparse_naive" }

// StateLen implements [Rule]: there is no state.
func (SparseNaive) StateLen(int) int { return 0 }

// LearningRate implements [Rated].
func (r SparseNaive) LearningRate() (float64, lr.Schedule) { return or(r.LR, 0.05), r.Schedule }

// Update implements [Rule].
func (r SparseNaive) Update(w, g, _ []float32, s *State) {
	lr := s.rate(r.LearningRate())
	low, high := r.Bounds.limits()
	g = g[:len(w)]
	for i := range w {
		w[i] = clamp(w[i]-lr*g[i], low, high)
	}
}

// check returns what is wrong with the settings, as a [Checker] does.
func (r SparseNaive) check() error {
	return checks("sparse_naive", checkRate(r.LR, r.Schedule), r.Bounds.check())
}

// SparseAdagrad shares one accumulator among all weights of a row:
//
//	w ← clamp(w − lr·g·√(a₀/(a₀+a)))
//	a ← a + mean(g²)
//
// Use it for rows: a dense variable would have a single accumulator.
type SparseAdagrad struct {
	// LR is the learning rate; 0 means 0.05.
	LR float64
	// Schedule, if any, gives the learning rate in place of LR.
	Schedule lr.Schedule
	// Initial is a₀; 0 means 3.
	Initial float64
	Bounds  Bounds
}

// Name implements [Rule].
func (SparseAdagrad) Name() string { return "sparse_adagrad" }

// StateLen implements [Rule]: one number for a row.
func (SparseAdagrad) StateLen(int) int { return 1 }

// WholeVariable is an optional method of [Rule].
func (SparseAdagrad) WholeVariable() bool { return true }

// LearningRate implements [Rated].
func (r SparseAdagrad) LearningRate() (float64, lr.Schedule) { return or(r.LR, 0.05), r.Schedule }

// Update implements [Rule].
func (r SparseAdagrad) Update(w, g, state []float32, s *State) {
	if len(w) == 0 {
		return
	}
	initial := or(r.Initial, 3)
	lr := s.rate(r.LearningRate()) * float32(math.Sqrt(initial/(initial+float64(state[0]))))
	low, high := r.Bounds.limits()
	g = g[:len(w)]
	for i := range w {
		w[i] = clamp(w[i]-lr*g[i], low, high)
	}
	state[0] += float32(squares(g) / float64(len(g)))
}

// check returns what is wrong with the settings, as a [Checker] does.
func (r SparseAdagrad) check() error {
	return checks("sparse_adagrad", checkRate(r.LR, r.Schedule), checkDivisor("Initial", r.Initial), r.Bounds.check())
}

// StdAdagrad is [SparseAdagrad] with an accumulator for each weight:
//
//	w ← clamp(w − lr·g·√(a₀/(a₀+a)))
//	a ← a + g²
type StdAdagrad struct {
	// LR is the learning rate; 0 means 0.05.
	LR float64
	// Schedule, if any, gives the learning rate in place of LR.
	Schedule lr.Schedule
	// Initial is a₀; 0 means 3.
	Initial float64
	Bounds  Bounds
}

// Name implements [Rule].
func (StdAdagrad) Name() string { return "std_adagrad" }

// StateLen implements [Rule]: one accumulator for each weight.
func (StdAdagrad) StateLen(n int) int { return n }

// LearningRate implements [Rated].
func (r StdAdagrad) LearningRate() (float64, lr.Schedule) { return or(r.LR, 0.05), r.Schedule }

// Update implements [Rule].
func (r StdAdagrad) Update(w, g, a []float32, s *State) {
	lr, initial := s.rate(r.LearningRate()), float32(or(r.Initial, 3))
	low, high := r.Bounds.limits()
	g, a = g[:len(w)], a[:len(w)]
	for i := range w {
		w[i] = clamp(w[i]-lr*g[i]*sqrt(initial/(initial+a[i])), low, high)
		a[i] += g[i] * g[i]
	}
}

// check returns what is wrong with the settings, as a [Checker] does.
func (r StdAdagrad) check() error {
	return checks("std_adagrad", checkRate(r.LR, r.Schedule), checkDivisor("Initial", r.Initial), r.Bounds.check())
}
