package optimizer_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/optimizertest"
)

// twin is a formula in float64 for a whole slice.
type twin = func(w, g, state []float64, step int64)

// each makes a twin of a formula for one weight: slots are its numbers of state.
func each(formula func(w *float64, g float64, slot []*float64, step int64)) twin {
	return func(w, g, state []float64, step int64) {
		for i := range w {
			var slot []*float64
			for at := i; at < len(state); at += len(w) {
				slot = append(slot, &state[at])
			}
			formula(&w[i], g[i], slot, step)
		}
	}
}

func momentumTwin(nesterov bool) twin {
	return each(func(w *float64, g float64, s []*float64, _ int64) {
		*s[0] = 0.9**s[0] + g
		step := *s[0]
		if nesterov {
			step = g + 0.9**s[0]
		}
		*w -= 0.01 * step
	})
}

func adamwTwin(w, g, state []float64, step int64) {
	for i := range w {
		w[i] -= 0.01 * 0.1 * w[i]
	}
	adamTwin(0.01, 0.9, 0.999, 1e-8, 0)(w, g, state, step)
}

var adamaxTwin = each(func(w *float64, g float64, s []*float64, step int64) {
	*s[0] = 0.9**s[0] + 0.1*g
	*s[1] = math.Max(0.999**s[1]+1e-8, math.Abs(g))
	*w -= 0.01 / (1 - math.Pow(0.9, float64(step))) * *s[0] / *s[1]
})

var decayedAdagradTwin = each(func(w *float64, g float64, s []*float64, _ int64) {
	*s[0] = 0.95**s[0] + 0.05*g*g
	*w -= 0.01 * g / (math.Sqrt(*s[0]) + 1e-6)
})

var adadeltaTwin = each(func(w *float64, g float64, s []*float64, _ int64) {
	*s[0] = 0.95**s[0] + 0.05*g*g
	delta := math.Sqrt((*s[1]+1e-6)/(*s[0]+1e-6)) * g
	*s[1] = 0.95**s[1] + 0.05*delta*delta
	*w -= delta
})

func rmspropTwin(momentum float64, centered bool) twin {
	return each(func(w *float64, g float64, s []*float64, _ int64) {
		*s[0] = 0.95**s[0] + 0.05*g*g
		square := *s[0]
		if centered {
			*s[2] = 0.95**s[2] + 0.05*g
			square -= *s[2] * *s[2]
		}
		*s[1] = momentum**s[1] + 0.01*g/math.Sqrt(square+1e-6)
		*w -= *s[1]
	})
}

func ftrlTwin(l1, l2, power float64) twin {
	return each(func(w *float64, g float64, s []*float64, _ int64) {
		grown := *s[0] + g*g
		root := math.Pow(grown, -power)
		*s[1] += g - (root-math.Pow(*s[0], -power))/0.1**w
		*s[0] = grown
		*w = 0
		if math.Abs(*s[1]) > l1 {
			*w = (math.Copysign(l1, *s[1]) - *s[1]) / (root/0.1 + 2*l2)
		}
	})
}

func TestFormulas(t *testing.T) {
	law.Slow(t)
	tests := []struct {
		rule optimizer.Rule
		exam optimizertest.Exam
	}{
		{optimizer.Momentum{LR: 0.01}, optimizertest.Exam{Twin: momentumTwin(false)}},
		{optimizer.Momentum{LR: 0.01, Nesterov: true}, optimizertest.Exam{Twin: momentumTwin(true)}},
		{optimizer.AdamW{LR: 0.01, WeightDecay: 0.1}, optimizertest.Exam{Twin: adamwTwin, MovesOnZero: true}},
		{optimizer.Adamax{LR: 0.01}, optimizertest.Exam{Twin: adamaxTwin}},
		{optimizer.DecayedAdagrad{LR: 0.01}, optimizertest.Exam{Twin: decayedAdagradTwin}},
		{optimizer.Adadelta{}, optimizertest.Exam{Twin: adadeltaTwin}},
		{optimizer.RMSProp{LR: 0.01}, optimizertest.Exam{Twin: rmspropTwin(0, false)}},
		{optimizer.RMSProp{LR: 0.01, Momentum: 0.9}, optimizertest.Exam{Twin: rmspropTwin(0.9, false)}},
		{optimizer.RMSProp{LR: 0.01, Momentum: 0.9, Centered: true}, optimizertest.Exam{Twin: rmspropTwin(0.9, true), Tolerance: 1e-4}},
		{optimizer.Ftrl{LR: 0.1}, optimizertest.Exam{Twin: ftrlTwin(0, 0, -0.5), MovesOnZero: true}},
		{optimizer.Ftrl{LR: 0.1, L1: 0.3, L2: 0.2}, optimizertest.Exam{Twin: ftrlTwin(0.3, 0.2, -0.5), MovesOnZero: true}},
		{optimizer.Ftrl{LR: 0.1, Power: -0.7}, optimizertest.Exam{Twin: ftrlTwin(0, 0, -0.7), MovesOnZero: true}},
	}
	for _, tt := range tests {
		for _, row := range []bool{false, true} {
			if _, adam := tt.rule.(optimizer.AdamW); adam && row {
				continue // its rows count as Adam's, which TestAdam looks at
			}
			tt.exam.Row = row
			t.Run(fmt.Sprintf("%T%+v/row=%t", tt.rule, tt.rule, row), func(t *testing.T) { optimizertest.Run(t, tt.rule, tt.exam) })
		}
	}
}

func TestChecks(t *testing.T) {
	bad := map[string]optimizer.Rule{
		"missing update rule":                     nil,
		"sgd: LR is -1: it must be a positive":    optimizer.SGD{LR: -1},
		"LR is NaN":                               optimizer.Momentum{LR: math.NaN()},
		"Momentum is 1: it must be at least 0":    optimizer.Momentum{Momentum: 1},
		"adam: Beta2 is 1.5":                      optimizer.Adam{Beta2: 1.5},
		"Epsilon is -1":                           optimizer.Adam{Epsilon: -1},
		"WeightDecay is -2":                       optimizer.AdamW{WeightDecay: -2},
		"Beta1 is -0.1":                           optimizer.Adamax{Beta1: -0.1},
		"InitialAccumulator is -1":                optimizer.Adagrad{InitialAccumulator: -1},
		"decayed_adagrad: Decay is 2":             optimizer.DecayedAdagrad{Decay: 2},
		"adadelta: Rho is 1":                      optimizer.Adadelta{Rho: 1},
		"rmsprop: LR is +Inf":                     optimizer.RMSProp{LR: math.Inf(1)},
		"ftrl: Power is 0.5: it must not be posi": optimizer.Ftrl{Power: 0.5},
	}
	for says, rule := range bad {
		refuses(t, optimizer.CheckRule(rule), says)
	}
	good := []optimizer.Rule{optimizer.SGD{}, optimizer.Momentum{}, optimizer.Adam{}, optimizer.Adam{LR: 0.1, Beta1: -1, Beta2: -1}, optimizer.AdamW{},
		optimizer.Adamax{}, optimizer.Adagrad{}, optimizer.DecayedAdagrad{}, optimizer.Adadelta{}, optimizer.RMSProp{}, optimizer.Ftrl{}}
	for _, rule := range good {
		if err := optimizer.CheckRule(rule); err != nil {
			t.Errorf("%T%+v: %v", rule, rule, err)
		}
	}
}
