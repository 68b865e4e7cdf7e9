package fleet_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// effectsOnStaleness are of which weights a worker of a mode without rounds computes on.
func effectsOnStaleness() map[string]effect {
	return map[string]effect{
		"LookAhead": {
			set: func(s *strategy.Strategy) { s.LookAhead = true },
			in:  []trial.Place{trial.InAsync},
			shows: func(t *testing.T, x trial.Trial) {
				x.Latency = 10 * time.Millisecond // as long as a step computes
				for _, x.NoRows = range []bool{false, true} {
					asks, ahead := x.Works(t), x.With(func(s *strategy.Strategy) { s.LookAhead = true }).Works(t)
					fewer(t, "a loop whose steps wait for what they need", ahead.Looped[0], asks.Looped[0], 0.7)
					if a, b := asks.Counts[0].Staleness(), ahead.Counts[0].Staleness(); b < a+0.7 {
						t.Errorf("no rows %t: gradients are %.2f updates late, and %.2f of those that looked ahead", x.NoRows, a, b)
					}
				}
			},
		},
		"NoForesight": {
			set: func(s *strategy.Strategy) { s.NoForesight = true },
			in:  []trial.Place{trial.InAsync, trial.InHalfAsync, trial.InSSP},
			shows: func(t *testing.T, x trial.Trial) {
				if one := x; x.Place == trial.InAsync { // which looks ahead misses its own last update
					one.Workers, one.Steady, one.Strategy.LookAhead, one.Rule = 1, true, true, optimizer.Momentum{LR: trial.Rate}
					fore, plain := one.Works(t), one.With(func(s *strategy.Strategy) { s.NoForesight = true }).Works(t)
					if !(fore.Begun > plain.Begun) {
						t.Errorf("one worker's step begins with %v, without foresight with %v", fore.Begun, plain.Begun)
					}
				}
				x.Steady = true // so that gradients are the same whatever they are computed on
				if x.Place == trial.InSSP {
					x.Strategy.Staleness = 4 // in step, nothing of others comes between
				}
				for name, rule := range map[string]optimizer.Rule{"SGD": optimizer.SGD{LR: trial.Rate}, "Momentum": optimizer.Momentum{LR: trial.Rate}} {
					x.Rule = rule
					fore, plain := x.Works(t), x.With(func(s *strategy.Strategy) { s.NoForesight = true }).Works(t)
					if !bytes.Equal(fore.Model, plain.Model) {
						t.Errorf("%s: the servers' weights differ", name)
					}
					if further := fore.Begun > plain.Begun; further != (name == "Momentum") {
						t.Errorf("%s: a step begins with %v, without foresight with %v", name, fore.Begun, plain.Begun)
					}
				}
			},
		},
	}
}
