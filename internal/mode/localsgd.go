package mode

import (
	"cmp"
	"errors"
	"math"
)

// LocalSGD is training without servers in which each worker updates its own copy of the weights, and from time to time
// all copies are set to their mean. It says when: after every step up to the step Begin, then every K steps.
//
// An adaptive one changes K with every meeting: the less is lost, and the higher the rate, the oftener workers meet,
//
//	K = ⌈√(lr₀·loss / (lr·loss₀) · K₀)⌉, at least 1 and at most 16
//
// with lr₀ and loss₀ of the first meeting; after Wang and Joshi, "Adaptive Communication Strategies to Achieve
// the Best Error-Runtime Trade-off in Local-Update SGD", SysML 2019.
type LocalSGD struct {
	// K and Begin are as said; K is K₀ at first.
	K, Begin int
	// Adaptive has K follow the loss.
	Adaptive bool

	first       int // K₀
	steps, last int // steps that have ended, and how many had when copies were the same
	lr0, loss0  float64
}

// mostLocalSteps is the most steps between two meetings of an adaptive worker.
const mostLocalSteps = 16

// ErrNoLoss says that an adaptive worker has nothing to follow.
var ErrNoLoss = errors.New("mode: adaptive_localsgd follows the loss, and the objective says none " +
	"(optimizer.Step.Loss is 0)")

// Pace is what an adaptive one has learnt: K, and the rate and loss of the first meeting; zero before that.
type Pace struct {
	K        int
	LR, Loss float64
}

// Pace is what it goes on with behind a checkpoint.
func (l *LocalSGD) Pace() Pace {
	if l.first == 0 {
		return Pace{}
	}
	return Pace{l.K, l.lr0, l.loss0}
}

// Resume goes on behind so many steps, after which copies are the same, an adaptive one with what it has learnt.
func (l *LocalSGD) Resume(steps int, p Pace) {
	l.steps, l.last = steps, steps
	if !l.Adaptive {
		return
	}
	l.K, l.first = cmp.Or(l.first, l.K), 0 // K₀, as long as nothing was learnt
	if l.lr0, l.loss0 = p.LR, p.Loss; p.K > 0 {
		l.K, l.first = p.K, l.K
	}
}

// Steps is how many steps have ended.
func (l *LocalSGD) Steps() int { return l.steps }

// Step takes note that a step has ended, and says whether all workers meet now.
func (l *LocalSGD) Step() (meet bool) {
	l.steps++
	return l.steps <= l.Begin || l.steps-l.last >= l.K
}

// Met takes note that all copies are their mean. lr is the learning rate of the last step, loss the mean of the
// workers' losses; only an adaptive one looks at them.
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
	if k < mostLocalSteps { // not so of NaN
		l.K = max(1, int(k))
	}
	return nil
}

// Drift sets d to how far w has gone since all copies were snapshot. The mean of all workers' d, taken from snapshot by
// Return, is the mean of all copies.
func Drift(d, snapshot, w []float32) {
	for i, v := range w {
		d[i] = snapshot[i] - v
	}
}

// Return sets snapshot to the mean of all copies, given the mean of their drifts.
func Return(snapshot, d []float32) {
	for i, v := range d {
		snapshot[i] -= v
	}
}
