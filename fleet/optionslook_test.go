package fleet_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// effectsOnStaleness are of which weights a worker of a mode without rounds computes on.
func effectsOnStaleness() map[string]effect {
	return map[string]effect{
		"LookAhead": {
			set: func(s *strategy.Strategy) { s.LookAhead = true },
			in:  []place{inAsync},
			shows: func(t *testing.T, x trial) {
				x.latency = 10 * time.Millisecond // as long as a step computes
				for _, x.noRows = range []bool{false, true} {
					asks, ahead := x.works(t), x.with(func(s *strategy.Strategy) { s.LookAhead = true }).works(t)
					fewer(t, "a loop whose steps wait for what they need", ahead.looped[0], asks.looped[0], 0.7)
					if a, b := asks.counts[0].Staleness(), ahead.counts[0].Staleness(); b < a+0.7 {
						t.Errorf("no rows %t: gradients are %.2f updates late, and %.2f of those that looked ahead", x.noRows, a, b)
					}
				}
			},
		},
		"NoForesight": {
			set: func(s *strategy.Strategy) { s.NoForesight = true },
			in:  []place{inAsync, inHalfAsync, inSSP},
			shows: func(t *testing.T, x trial) {
				if one := x; x.place == inAsync { // which looks ahead misses its own last update
					one.workers, one.steady, one.s.LookAhead, one.rule = 1, true, true, optimizer.Momentum{LR: trialRate}
					fore, plain := one.works(t), one.with(func(s *strategy.Strategy) { s.NoForesight = true }).works(t)
					if !(fore.begun > plain.begun) {
						t.Errorf("one worker's step begins with %v, without foresight with %v", fore.begun, plain.begun)
					}
				}
				x.steady = true // so that gradients are the same whatever they are computed on
				if x.place == inSSP {
					x.s.Staleness = 4 // in step, nothing of others comes between
				}
				for name, rule := range map[string]optimizer.Rule{"SGD": optimizer.SGD{LR: trialRate}, "Momentum": optimizer.Momentum{LR: trialRate}} {
					x.rule = rule
					fore, plain := x.works(t), x.with(func(s *strategy.Strategy) { s.NoForesight = true }).works(t)
					if !bytes.Equal(fore.model, plain.model) {
						t.Errorf("%s: the servers' weights differ", name)
					}
					if further := fore.begun > plain.begun; further != (name == "Momentum") {
						t.Errorf("%s: a step begins with %v, without foresight with %v", name, fore.begun, plain.begun)
					}
				}
			},
		},
	}
}
