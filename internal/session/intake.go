package session

import (
	"fmt"

	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/optimizer"
)

// intake takes gradients from a session's steps, and names the worker in its errors. It belongs to one session.
type intake struct {
	*gradient.Intake
	worker int
}

// newIntake makes the intake of a session of params. The worker clips by norm unless servers have a round's gradients,
// and by value if pushes may be added up.
func newIntake(w *Worker, params []*optimizer.Param) intake {
	st := w.Strategy
	clip := gradient.NewClipper(params, w.Rule, !mode.Of(st.Mode).Rounds, st.Sums(true))
	guard := gradient.Guard{Policy: st.NotFinite, Seen: &w.Servers.Tally.NotFinite}
	return intake{gradient.NewIntake(params, w.Rule, guard, clip), w.Worker}
}

// Take returns a gradient that may alias the step's arrays, until the thread's next step begins.
func (k intake) Take(st *optimizer.Step) (gradient.Step, error) {
	s, err := k.Intake.Take(st)
	if err != nil {
		err = fmt.Errorf("worker %d: %w", k.worker, err)
	}
	return s, err
}
