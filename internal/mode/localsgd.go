package mode

import (
	"cmp"
	"errors"
	"math"
)

// LocalSGD decides when copies meet, in training without servers in which each worker updates its own copy of the
// weights and all copies are set to their mean from time to time: after every step up to step Begin, then every K
// steps.
//
// With Adaptive, K changes with every meeting: the lower the loss, and the higher the rate, the more often workers
// meet,
//
//	K = ⌈√(lr₀·loss / (lr·loss₀) · K₀)⌉, at least 1 and at most 16
//
// with lr₀ and loss₀ of the first meeting; after Wang and Joshi, "Adaptive Communication Strategies to Achieve the Best
// Error-Runtime Trade-off in Local-Update SGD", SysML 2019.
type LocalSGD struct {
	// K and Begin are in steps, as described above; K is K₀ at first.
	K, Begin int
	// Adaptive makes K follow the loss.
	Adaptive bool

	first       int // K₀
	steps, last int // steps that have ended, and those that had at the last meeting
	lr0, loss0  float64
}

// mostLocalSteps is the most steps between two meetings of an adaptive worker.
const mostLocalSteps = 16

// ErrNoLoss is the error of adaptive training whose objective reports no loss.
var ErrNoLoss = errors.New("mode: adaptive_localsgd follows the loss, and the objective says none " +
	"(optimizer.Step.Loss is 0)")

// Pace is the state of adaptive training: K, and the rate and loss of the first meeting; zero before that.
type Pace struct {
	K        int
	LR, Loss float64
}

// Pace returns the state for a checkpoint.
func (l *LocalSGD) Pace() Pace {
	if l.first == 0 {
		return Pace{}
	}
	return Pace{l.K, l.lr0, l.loss0}
}

// Resume continues after that many steps, when all copies are the same, with a checkpoint's Pace if Adaptive.
func (l *LocalSGD) Resume(steps int, p Pace) {
	l.steps, l.last = steps, steps
	if !l.Adaptive {
		return
	}
	l.K, l.first = cmp.Or(l.first, l.K), 0 // K₀, if p is zero
	if l.lr0, l.loss0 = p.LR, p.Loss; p.K > 0 {
		l.K, l.first = p.K, l.K
	}
}

// Steps returns how many steps have ended.
func (l *LocalSGD) Steps() int { return l.steps }

// Step records that a step has ended, and reports whether all workers meet now.
func (l *LocalSGD) Step() (meet bool) {
	l.steps++
	return l.steps <= l.Begin || l.steps-l.last >= l.K
}

// Met records that all copies are set to their mean. lr is the learning rate of the last step, loss the mean of the
// workers' losses; only adaptive training uses them. It returns [ErrNoLoss] if the first loss is 0.
func (l *LocalSGD) Met(lr, loss float64) error {
	l.last = l.steps
	if !l.Adaptive || l.steps == 0 {
		return nil
	}
	if l.first == 0 {
		l.first, l.lr0, l.loss0 = l.K, lr, loss
	}
	if l.loss0 == 0 {
		return ErrNoLoss
	}
	k := math.Ceil(math.Sqrt(l.lr0 * loss / (lr * l.loss0) * float64(l.first)))
	l.K = mostLocalSteps
	if k < mostLocalSteps { // false for NaN
		l.K = max(1, int(k))
	}
	return nil
}

// Drift sets d to snapshot − w, where all copies were snapshot at the last meeting. Return turns the mean of all
// workers' d into the mean of all copies.
func Drift(d, snapshot, w []float32) {
	for i, v := range w {
		d[i] = snapshot[i] - v
	}
}

// Return subtracts d, the mean of all drifts, from snapshot, which becomes the mean of all copies.
func Return(snapshot, d []float32) {
	for i, v := range d {
		snapshot[i] -= v
	}
}
