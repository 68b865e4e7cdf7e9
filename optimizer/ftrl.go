package optimizer

import (
	"cmp"
	"fmt"
	"math"

	"github.com/gofleet/gofleet/optimizer/lr"
)

// Ftrl follows the regularised leader, element by element (McMahan et al., 2013), which keeps weights at exactly zero
// as long as their gradients don't outweigh L1:
//
//	n' = n + g²
//	z ← z + g − (n'^−p − n^−p)/lr·w
//	w ← (L1·sign(z) − z) / (n'^−p/lr + 2·L2)   where |z| > L1, else 0
//	n ← n'
//
// p is Power. A weight whose first update has a zero gradient loses its initial value. Where the divisor is 0, since
// no square of a gradient was as large as the smallest float32, the weight is 0.
type Ftrl struct {
	// LR is the learning rate; 0 means 0.001.
	LR float64
	// Schedule, if any, gives the learning rate in place of LR.
	Schedule lr.Schedule
	// L1 and L2 pull weights to zero.
	L1, L2 float64
	// Power is p, at most zero; 0 means −0.5.
	Power float64
}

// Name implements [Rule].
func (Ftrl) Name() string { return "ftrl" }

// StateLen implements [Rule]: n sums of squared gradients, then n linear terms.
func (Ftrl) StateLen(n int) int { return 2 * n }

// LearningRate implements [Rated].
func (r Ftrl) LearningRate() (float64, lr.Schedule) { return or(r.LR, 0.001), r.Schedule }

// Update implements [Rule].
func (r Ftrl) Update(w, g, state []float32, s *State) {
	lr, l1, l2 := s.rate(r.LearningRate()), float32(r.L1), float32(r.L2)
	if lr == 0 { // the formula divides by it: a schedule may begin or end with 0
		return
	}
	power, n := cmp.Or(r.Power, -0.5), len(w)
	g = g[:n]
	square, linear := state[:n], state[n:][:n]
	for i := range w {
		grown := square[i] + g[i]*g[i]
		before, after := ftrlRoot(square[i], power), ftrlRoot(grown, power)
		z := linear[i] + g[i] - (after-before)/lr*w[i]
		square[i], linear[i] = grown, z
		divisor := after/lr + 2*l2
		if abs(z) <= l1 || divisor == 0 { // false for a NaN, so that it shows
			w[i] = 0
			continue
		}
		w[i] = (l1*sign(z) - z) / divisor
	}
}

func ftrlRoot(x float32, power float64) float32 {
	if power == -0.5 {
		return sqrt(x)
	}
	return float32(math.Pow(float64(x), -power))
}

// check returns what is wrong with the settings, as a [Checker] does.
func (r Ftrl) check() error {
	var power error
	if !(r.Power <= 0) {
		power = fmt.Errorf("Power is %v: it must not be positive", r.Power)
	}
	return checks("ftrl", checkRate(r.LR, r.Schedule), checkPositive("L1", r.L1), checkPositive("L2", r.L2), power)
}
