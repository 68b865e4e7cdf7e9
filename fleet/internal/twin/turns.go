package twin

import (
	"context"
	"math/rand/v2"

	"github.com/gofleet/gofleet/strategy"
)

// Turn is a factor on rates that worker 0 sets behind a step of an epoch: it counts from the next step on.
type Turn struct {
	Step   int
	Factor float64
}

// turns says whether it is known with which of its steps, and of the others', a factor counts that is set in an epoch.
func (l Leg) turns() bool {
	one := l.copies() && l.Workers == 1 && l.Threads == 0
	return (l.alone() || one || l.kind() == string(strategy.ModeSync)) && l.Strategy.GradientMerge.KSteps == 0
}

// drawTurns has factors set in some epochs.
func (p *Program) drawTurns(r *rand.Rand) {
	for _, l := range p.Legs {
		for k := range l.Calls {
			c := &l.Calls[k]
			if !l.turns() || c.Do != train || len(c.Batches[0]) < 2 || !often(r, 5) {
				continue
			}
			c.Turn = &Turn{Step: r.IntN(len(c.Batches[0]) - 1), Factor: pick(r, 0.5, 2, 0.1)}
		}
	}
}

// turn sets the factor that is set behind a step.
func (r *role) turn(ctx context.Context, c Call, step int) error {
	if c.Turn == nil || r.worker > 0 || c.Turn.Step != step {
		return nil
	}
	return r.f.SetRateFactor(ctx, c.Turn.Factor)
}

// turn is what that does.
func (m *model) turn(c Call, worker, step int) {
	if c.Turn != nil && worker == 0 && c.Turn.Step == step {
		m.now.factor = c.Turn.Factor
	}
}
