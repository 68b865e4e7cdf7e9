package optimizer_test

import (
	"slices"
	"testing"

	"github.com/gofleet/gofleet/internal/rules"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/lr"
	"github.com/gofleet/gofleet/optimizer/optimizertest"
)

// Every rule that can follow a schedule gives the same with it as with the schedule's rates one by one.
func TestRulesFollowSchedules(t *testing.T) {
	schedule := lr.ExponentialDecay{LR: 0.1, Gamma: 0.5}
	rules := map[string]func(lr float64, s lr.Schedule) optimizer.Rule{
		"sgd":      func(lr float64, s lr.Schedule) optimizer.Rule { return optimizer.SGD{LR: lr, Schedule: s} },
		"momentum": func(lr float64, s lr.Schedule) optimizer.Rule { return optimizer.Momentum{LR: lr, Schedule: s} },
		"adam":     func(lr float64, s lr.Schedule) optimizer.Rule { return optimizer.Adam{LR: lr, Schedule: s} },
		"adamw":    func(lr float64, s lr.Schedule) optimizer.Rule { return optimizer.AdamW{LR: lr, Schedule: s} },
		"adamax":   func(lr float64, s lr.Schedule) optimizer.Rule { return optimizer.Adamax{LR: lr, Schedule: s} },
		"adagrad":  func(lr float64, s lr.Schedule) optimizer.Rule { return optimizer.Adagrad{LR: lr, Schedule: s} },
		"decayed": func(lr float64, s lr.Schedule) optimizer.Rule {
			return optimizer.DecayedAdagrad{LR: lr, Schedule: s}
		},
		"adadelta": func(lr float64, s lr.Schedule) optimizer.Rule { return optimizer.Adadelta{LR: lr, Schedule: s} },
		"rmsprop":  func(lr float64, s lr.Schedule) optimizer.Rule { return optimizer.RMSProp{LR: lr, Schedule: s} },
		"ftrl":     func(lr float64, s lr.Schedule) optimizer.Rule { return optimizer.Ftrl{LR: lr, Schedule: s} },
		"lamb":     func(lr float64, s lr.Schedule) optimizer.Rule { return optimizer.Lamb{LR: lr, Schedule: s} },
		"lars":     func(lr float64, s lr.Schedule) optimizer.Rule { return optimizer.Lars{LR: lr, Schedule: s} },
		"naive": func(lr float64, s lr.Schedule) optimizer.Rule {
			return optimizer.SparseNaive{LR: lr, Schedule: s}
		},
		"shared": func(lr float64, s lr.Schedule) optimizer.Rule {
			return optimizer.SparseAdagrad{LR: lr, Schedule: s}
		},
		"std": func(lr float64, s lr.Schedule) optimizer.Rule {
			return optimizer.StdAdagrad{LR: lr, Schedule: s}
		},
		"counting": func(lr float64, s lr.Schedule) optimizer.Rule {
			return optimizer.SparseAdam{LR: lr, Schedule: s}
		},
		"sharing": func(lr float64, s lr.Schedule) optimizer.Rule {
			return optimizer.SparseSharedAdam{LR: lr, Schedule: s}
		},
	}
	for name, make := range rules {
		a, b := trained(make(0, schedule), nil), trained(nil, func(step int64) optimizer.Rule {
			return make(schedule.Rate(step-1), nil)
		})
		if !slices.Equal(a, b) {
			t.Errorf("%s: %v with the schedule, %v with its rates", name, a, b)
		}
	}
}

// trained are two weights after four updates by a rule, or by another rule in each step.
func trained(rule optimizer.Rule, at func(step int64) optimizer.Rule) []float32 {
	w, state, s := []float32{1, -2}, []float32(nil), &optimizer.State{}
	for s.Step = 1; s.Step <= 4; s.Step++ {
		if at != nil {
			rule = at(s.Step)
		}
		if state == nil {
			state = make([]float32, rule.StateLen(2))
			rules.InitState(rule, state)
		}
		rule.Update(w, []float32{0.5, -0.25}, state, s)
	}
	return w
}

func TestScheduledRulesSitTheExam(t *testing.T) {
	schedule := lr.Every{Steps: 3, Schedule: lr.StepDecay{LR: 0.1, Size: 1, Gamma: 0.5}}
	for _, rule := range []optimizer.Rule{optimizer.SGD{Schedule: schedule}, optimizer.Adam{Schedule: schedule}} {
		optimizertest.Run(t, rule, optimizertest.Exam{Row: true})
	}
}

// TestSchedulesEndAtZero: where 0 means another end, -1 is 0, at which no weight moves.
func TestSchedulesEndAtZero(t *testing.T) {
	for _, s := range []lr.Schedule{
		lr.PolynomialDecay{LR: 1, Steps: 10, End: -1}, lr.OneCycleLR{Max: 1, Steps: 11, End: -1},
		lr.LinearLR{LR: 1, Steps: 10, Start: 1, End: -1}, lr.LinearWarmup{Steps: 10, Start: 1},
	} {
		all := []optimizer.Rule{optimizer.SGD{Schedule: s}, optimizer.Adam{Schedule: s}, optimizer.Lamb{Schedule: s}, optimizer.Lars{Schedule: s},
			optimizer.Ftrl{Schedule: s}, optimizer.SparseAdam{Schedule: s}}
		for _, rule := range all {
			if err := optimizer.CheckRule(rule); err != nil {
				t.Error(err)
			}
			w, g, state := []float32{1, -2}, []float32{0.5, 0.25}, make([]float32, rule.StateLen(2))
			rules.InitState(rule, state)
			if rule.Update(w, g, state, &optimizer.State{Step: 10}); w[0] == 1 || w[0] != w[0] {
				t.Errorf("%+v: the update before the end moves 1 to %v", rule, w[0])
			}
			before := w[0]
			if rule.Update(w, g, state, &optimizer.State{Step: 11}); w[0] != before && rule.Name() != "lars_momentum" { // which goes on by its velocity
				t.Errorf("%+v: at the end %v becomes %v", rule, before, w[0])
			}
		}
	}
}

// TestStepZeroIsTheFirst: a step that was never set has the rate of the first.
func TestStepZeroIsTheFirst(t *testing.T) {
	s := lr.ExponentialDecay{LR: 0.1, Gamma: 0.5}
	for _, rule := range []optimizer.Rule{optimizer.SGD{Schedule: s}, optimizer.Adam{Schedule: s}, optimizer.AdamW{Schedule: s},
		optimizer.Adamax{Schedule: s}, optimizer.Lamb{Schedule: s}, optimizer.Lars{Schedule: s}} {
		var w [2][]float32
		for step := range w {
			w[step] = []float32{1, -2}
			rule.Update(w[step], []float32{0.5, 0.25}, make([]float32, rule.StateLen(2)), &optimizer.State{Step: int64(step)})
		}
		if !slices.Equal(w[0], w[1]) {
			t.Errorf("%T: step 0 gives %v, step 1 %v", rule, w[0], w[1])
		}
	}
}

// TestZero: in rules too it is 0 and not the default.
func TestZero(t *testing.T) {
	for _, tt := range []struct{ zero, same optimizer.Rule }{
		{optimizer.Momentum{LR: 0.1, Momentum: -1}, optimizer.SGD{LR: 0.1}},
		{optimizer.Adam{LR: 0.1, Beta1: -1, Beta2: -1}, optimizer.Adam{LR: 0.1, Beta1: 1e-300, Beta2: 1e-300}},
		{optimizer.AdamW{LR: 0.1, WeightDecay: -1}, optimizer.Adam{LR: 0.1}},
		{optimizer.Lamb{LR: 0.1, WeightDecay: -1}, optimizer.Lamb{LR: 0.1, WeightDecay: 1e-300}},
	} {
		if a, b := trained(tt.zero, nil), trained(tt.same, nil); !slices.Equal(a, b) {
			t.Errorf("%T%+v gives %v, %T%+v %v", tt.zero, tt.zero, a, tt.same, tt.same, b)
		}
	}
}
