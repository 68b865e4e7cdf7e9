package replica

import (
	"errors"
	"math"

	"github.com/gofleet/gofleet/optimizer"
)

// adaptive is how many steps workers make between two exchanges, by the learning rate and the loss of all at the first and the
// last exchange.
type adaptive struct {
	lr0, loss0 float64
	k          int // 0 until an exchange has said it
}

// maxAdaptive is the most steps between two exchanges.
const maxAdaptive = 16

var errNoLoss = errors.New("replica: adaptive_localsgd follows the loss, and the objective says none (optimizer.Step.Loss is 0)")

// met notes an exchange.
func (a *adaptive) met(init int, lr, loss float64) error {
	if a.k == 0 {
		a.lr0, a.loss0 = lr, loss
	}
	if a.loss0 == 0 {
		return errNoLoss
	}
	k := math.Ceil(math.Sqrt(a.lr0 * loss / (lr * a.loss0) * float64(init)))
	a.k = maxAdaptive
	if k < maxAdaptive { // not so of NaN
		a.k = max(1, int(k))
	}
	return nil
}

// steps is the number, otherwise where none is adapted.
func (a *adaptive) steps(otherwise int) int {
	if a.k == 0 {
		return otherwise
	}
	return a.k
}

// rateOf is the learning rate of a rule after so many updates.
func rateOf(r optimizer.Rule, updates int) float64 {
	lr, schedule := 0.0, optimizer.Schedule(nil)
	switch r := r.(type) {
	case optimizer.SGD:
		lr, schedule = r.LR, r.Schedule
	case optimizer.Momentum:
		lr, schedule = r.LR, r.Schedule
	case optimizer.Wrapper:
		return rateOf(r.Unwrap(), updates)
	}
	switch {
	case schedule != nil:
		return schedule.Rate(int64(updates))
	case lr == 0:
		return 0.001
	}
	return lr
}
