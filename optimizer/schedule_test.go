package optimizer_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/optimizertest"
)

func TestSchedules(t *testing.T) {
	tests := []struct {
		schedule optimizer.Schedule
		rates    map[int64]float64
	}{
		{optimizer.ExponentialDecay{LR: 1, Gamma: 0.5, Steps: 10}, map[int64]float64{0: 1, 10: 0.5, 5: math.Sqrt(0.5)}},
		{optimizer.ExponentialDecay{LR: 1, Gamma: 0.5, Steps: 10, Staircase: true}, map[int64]float64{9: 1, 10: 0.5, 19: 0.5, 20: 0.25}},
		{optimizer.NaturalExpDecay{LR: 1, Gamma: 1, Steps: 4, Staircase: true}, map[int64]float64{3: 1, 4: 1 / math.E}},
		{optimizer.InverseTimeDecay{LR: 1, Gamma: 1, Steps: 4}, map[int64]float64{0: 1, 4: 0.5, 2: 1 / 1.5}},
		{optimizer.PolynomialDecay{LR: 1, Steps: 4}, map[int64]float64{0: 1, 4: 0.0001, 400: 0.0001}},
		{optimizer.Every{Steps: 10, Schedule: optimizer.StepDecay{LR: 1, Size: 2}}, map[int64]float64{0: 1, 19: 1, 20: 0.1, 40: 0.01}},
		{optimizer.LinearWarmup{Steps: 4, End: 1, After: optimizer.StepDecay{LR: 1, Size: 3}}, map[int64]float64{2: 0.5, 4: 1, 6: 1, 7: 0.1}},
		{optimizer.LinearLR{LR: 3, Steps: 2}, map[int64]float64{0: 1, 1: 2, 2: 3, 9: 3}},
		{optimizer.MultiStepDecay{LR: 1, Milestones: []int64{3, 5}}, map[int64]float64{2: 1, 3: 0.1, 5: 0.01}},
		{optimizer.CosineAnnealingDecay{LR: 1, Steps: 5}, map[int64]float64{0: 1, 5: 0, 10: 1, 15: 0}},
		{optimizer.CosineAnnealingWarmRestarts{LR: 1, Steps: 4}, map[int64]float64{0: 1, 2: 0.5, 4: 1, 400_000_002: 0.5}},
		{optimizer.CosineAnnealingWarmRestarts{LR: 1, Steps: 4, Mult: 2}, map[int64]float64{4: 1, 8: 0.5, 12: 1, 20: 0.5, 28: 1}},
		{optimizer.OneCycleLR{Max: 1, Steps: 11, Rise: 0.5, Line: true, Divide: 10}, map[int64]float64{0: 0.1, 10: 0.0001, 99: 0.0001}},
		{optimizer.OneCycleLR{Max: 1, Steps: 20, Rise: 0.3, Line: true, Divide: 10, ThreePhase: true},
			map[int64]float64{0: 0.1, 5: 1, 10: 0.1, 19: 0.0001}},
		{optimizer.OneCycleLR{Max: 1, Steps: 1}, map[int64]float64{0: 0.0001}},
		{optimizer.CyclicLR{Base: 1, Max: 3, Up: 2}, map[int64]float64{0: 1, 1: 2, 2: 3, 3: 2, 4: 1, 6: 3}},
		{optimizer.CyclicLR{Max: 1, Up: 2, Mode: optimizer.ExpRange, Gamma: 0.5}, map[int64]float64{1: 0.25, 2: 0.25, 4: 0}},
	}
	for _, tt := range tests {
		if err := tt.schedule.(optimizer.Checker).Check(); err != nil {
			t.Error(err)
		}
		for n, want := range tt.rates {
			if got := tt.schedule.Rate(n); !(math.Abs(got-want) < 1e-12) {
				t.Errorf("%T%+v: rate %d is %v, want %v", tt.schedule, tt.schedule, n, got, want)
			}
		}
	}
}

// Every rule that can follow a schedule gives the same with it as with the schedule's rates one by one.
func TestRulesFollowSchedules(t *testing.T) {
	schedule := optimizer.ExponentialDecay{LR: 0.1, Gamma: 0.5}
	rules := map[string]func(lr float64, s optimizer.Schedule) optimizer.Rule{
		"sgd":      func(lr float64, s optimizer.Schedule) optimizer.Rule { return optimizer.SGD{LR: lr, Schedule: s} },
		"momentum": func(lr float64, s optimizer.Schedule) optimizer.Rule { return optimizer.Momentum{LR: lr, Schedule: s} },
		"adam":     func(lr float64, s optimizer.Schedule) optimizer.Rule { return optimizer.Adam{LR: lr, Schedule: s} },
		"adamw":    func(lr float64, s optimizer.Schedule) optimizer.Rule { return optimizer.AdamW{LR: lr, Schedule: s} },
		"adamax":   func(lr float64, s optimizer.Schedule) optimizer.Rule { return optimizer.Adamax{LR: lr, Schedule: s} },
		"adagrad":  func(lr float64, s optimizer.Schedule) optimizer.Rule { return optimizer.Adagrad{LR: lr, Schedule: s} },
		"decayed": func(lr float64, s optimizer.Schedule) optimizer.Rule {
			return optimizer.DecayedAdagrad{LR: lr, Schedule: s}
		},
		"adadelta": func(lr float64, s optimizer.Schedule) optimizer.Rule { return optimizer.Adadelta{LR: lr, Schedule: s} },
		"rmsprop":  func(lr float64, s optimizer.Schedule) optimizer.Rule { return optimizer.RMSProp{LR: lr, Schedule: s} },
		"ftrl":     func(lr float64, s optimizer.Schedule) optimizer.Rule { return optimizer.Ftrl{LR: lr, Schedule: s} },
		"lamb":     func(lr float64, s optimizer.Schedule) optimizer.Rule { return optimizer.Lamb{LR: lr, Schedule: s} },
		"lars":     func(lr float64, s optimizer.Schedule) optimizer.Rule { return optimizer.Lars{LR: lr, Schedule: s} },
		"naive": func(lr float64, s optimizer.Schedule) optimizer.Rule {
			return optimizer.SparseNaive{LR: lr, Schedule: s}
		},
		"shared": func(lr float64, s optimizer.Schedule) optimizer.Rule {
			return optimizer.SparseAdagrad{LR: lr, Schedule: s}
		},
		"std": func(lr float64, s optimizer.Schedule) optimizer.Rule {
			return optimizer.StdAdagrad{LR: lr, Schedule: s}
		},
		"counting": func(lr float64, s optimizer.Schedule) optimizer.Rule {
			return optimizer.SparseAdam{LR: lr, Schedule: s}
		},
		"sharing": func(lr float64, s optimizer.Schedule) optimizer.Rule {
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
			optimizer.InitState(rule, state)
		}
		rule.Update(w, []float32{0.5, -0.25}, state, s)
	}
	return w
}

func TestScheduledRulesSitTheExam(t *testing.T) {
	schedule := optimizer.Every{Steps: 3, Schedule: optimizer.StepDecay{LR: 0.1, Size: 1, Gamma: 0.5}}
	for _, rule := range []optimizer.Rule{optimizer.SGD{Schedule: schedule}, optimizer.Adam{Schedule: schedule}} {
		optimizertest.Run(t, rule, optimizertest.Exam{Row: true})
	}
}

func TestScheduleChecks(t *testing.T) {
	bad := map[string]optimizer.Schedule{
		"ExponentialDecay: LR is -1":                            optimizer.ExponentialDecay{LR: -1},
		"NaturalExpDecay: Gamma is -1":                          optimizer.NaturalExpDecay{LR: 1, Gamma: -1},
		"InverseTimeDecay: LR is NaN":                           optimizer.InverseTimeDecay{LR: math.NaN()},
		"PolynomialDecay: Steps is 0":                           optimizer.PolynomialDecay{LR: 1},
		"NoamDecay: Model is 0":                                 optimizer.NoamDecay{Warmup: 1},
		"After of optimizer.LinearWarmup: StepDecay: Size is 0": optimizer.LinearWarmup{Steps: 1, End: 1, After: optimizer.StepDecay{LR: 1}},
		"LinearLR: Steps is -5":                                 optimizer.LinearLR{LR: 1, Steps: -5},
		"2 Values for 3 Boundaries":                             optimizer.PiecewiseDecay{Boundaries: []int64{1, 2, 3}, Values: []float64{1, 2}},
		"Boundaries are [2 2]":                                  optimizer.PiecewiseDecay{Boundaries: []int64{2, 2}, Values: []float64{1, 2, 3}},
		"MultiStepDecay: Milestones are [5 4]":                  optimizer.MultiStepDecay{LR: 1, Milestones: []int64{5, 4}},
		"LambdaDecay: Name and Factor":                          optimizer.LambdaDecay{LR: 1, Factor: func(int64) float64 { return 1 }},
		"MultiplicativeDecay: Name and Factor":                  optimizer.MultiplicativeDecay{Name: "x", LR: 1},
		"Every: Schedule is missing":                            optimizer.Every{Steps: 1},
		"CosineAnnealingDecay: Steps is 0":                      optimizer.CosineAnnealingDecay{LR: 1},
		"CosineAnnealingWarmRestarts: Mult is -1":               optimizer.CosineAnnealingWarmRestarts{LR: 1, Steps: 1, Mult: -1},
		"OneCycleLR: Rise is 0.6: it must be a part":            optimizer.OneCycleLR{Max: 1, Steps: 10, Rise: 0.6, ThreePhase: true},
		`CyclicLR: Mode is "square"`:                            optimizer.CyclicLR{Max: 1, Up: 1, Mode: "square"},
		"ExponentialDecay: Steps is -5":                         optimizer.ExponentialDecay{LR: 1, Gamma: 1, Steps: -5},
		"PolynomialDecay: Power is -1":                          optimizer.PolynomialDecay{LR: 1, Steps: 1, Power: -1},
		"PiecewiseDecay: Values[1] is -1":                       optimizer.PiecewiseDecay{Boundaries: []int64{2}, Values: []float64{1, -1}},
		`CyclicLR: Gamma is 0.5: it is for mode "e`:             optimizer.CyclicLR{Max: 1, Up: 1, Gamma: 0.5},
	}
	for says, s := range bad {
		refuses(t, optimizer.CheckRule(optimizer.SGD{Schedule: s}), says)
	}
}

// TestSchedulesThatTrainNothing: a setting that is missing leaves no rate at 0, and none that never changes, without a word.
func TestSchedulesThatTrainNothing(t *testing.T) {
	one := func(int64) float64 { return 1 }
	for says, s := range map[string]optimizer.Schedule{
		"ExponentialDecay: Gamma is 0":                                   optimizer.ExponentialDecay{LR: 1},
		"ExponentialDecay: LR is 0":                                      optimizer.ExponentialDecay{Gamma: 0.9},
		"NaturalExpDecay: Gamma is 0":                                    optimizer.NaturalExpDecay{LR: 1},
		"NaturalExpDecay: LR is 0":                                       optimizer.NaturalExpDecay{Gamma: 0.9},
		"InverseTimeDecay: Gamma is 0":                                   optimizer.InverseTimeDecay{LR: 1},
		"InverseTimeDecay: LR is 0":                                      optimizer.InverseTimeDecay{Gamma: 0.9},
		"PolynomialDecay: LR is 0":                                       optimizer.PolynomialDecay{Steps: 9},
		"LinearWarmup: End is 0":                                         optimizer.LinearWarmup{Steps: 9},
		"LinearWarmup: End is 0: it is the rate to warm up to":           optimizer.LinearWarmup{Steps: 9, Start: 0.1, After: optimizer.StepDecay{LR: 1, Size: 1}},
		"LinearLR: LR is 0":                                              optimizer.LinearLR{Steps: 9},
		"LinearLR: Start is 1 and End 0, so that the rate never changes": optimizer.LinearLR{LR: 1, Steps: 10, Start: 1},
		"StepDecay: LR is 0":                                             optimizer.StepDecay{Size: 1},
		"MultiStepDecay: LR is 0":                                        optimizer.MultiStepDecay{Milestones: []int64{1}},
		"LambdaDecay: LR is 0":                                           optimizer.LambdaDecay{Name: "one", Factor: one},
		"MultiplicativeDecay: LR is 0":                                   optimizer.MultiplicativeDecay{Name: "one", Factor: one},
		"CosineAnnealingDecay: LR is 0":                                  optimizer.CosineAnnealingDecay{Steps: 9},
		"CosineAnnealingWarmRestarts: LR is 0":                           optimizer.CosineAnnealingWarmRestarts{Steps: 9},
		"OneCycleLR: Max is 0":                                           optimizer.OneCycleLR{Steps: 9},
		"CyclicLR: Max is 0":                                             optimizer.CyclicLR{Up: 9},
		// A default end that training would climb to.
		"PolynomialDecay: End is 0, which means 0.0001 and is not below LR": optimizer.PolynomialDecay{LR: 5e-5, Steps: 9},
		"OneCycleLR: End is 0, which means 0.0001 and is not below Max":     optimizer.OneCycleLR{Max: 5e-5, Steps: 9},
	} {
		refuses(t, optimizer.CheckRule(optimizer.SGD{Schedule: s}), says)
	}
	for _, s := range []optimizer.Schedule{optimizer.PolynomialDecay{LR: 5e-5, Steps: 9, End: 1e-5}, optimizer.OneCycleLR{Max: 5e-5, Steps: 9, End: 1e-5}} {
		if err := optimizer.CheckRule(optimizer.SGD{Schedule: s}); err != nil {
			t.Error(err)
		}
	}
	refuses(t, optimizer.CheckRule(optimizer.Adam{Epsilon: optimizer.Zero}), "Epsilon is 5e-324, which is 0 for a float32")
}

// TestSchedulesEndAtZero: where 0 means another end, Zero is one, at which no weight moves.
func TestSchedulesEndAtZero(t *testing.T) {
	for _, s := range []optimizer.Schedule{
		optimizer.PolynomialDecay{LR: 1, Steps: 10, End: optimizer.Zero}, optimizer.OneCycleLR{Max: 1, Steps: 11, End: optimizer.Zero},
		optimizer.LinearLR{LR: 1, Steps: 10, Start: 1, End: optimizer.Zero}, optimizer.LinearWarmup{Steps: 10, Start: 1},
	} {
		rules := []optimizer.Rule{optimizer.SGD{Schedule: s}, optimizer.Adam{Schedule: s}, optimizer.Lamb{Schedule: s}, optimizer.Lars{Schedule: s},
			optimizer.Ftrl{Schedule: s}, optimizer.SparseAdam{Schedule: s}}
		for _, rule := range rules {
			if err := optimizer.CheckRule(rule); err != nil {
				t.Error(err)
			}
			w, g, state := []float32{1, -2}, []float32{0.5, 0.25}, make([]float32, rule.StateLen(2))
			optimizer.InitState(rule, state)
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
	s := optimizer.ExponentialDecay{LR: 0.1, Gamma: 0.5}
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
		{optimizer.Momentum{LR: 0.1, Momentum: optimizer.Zero}, optimizer.SGD{LR: 0.1}},
		{optimizer.Adam{LR: 0.1, Beta1: optimizer.Zero}, optimizer.NewAdam(0.1, 0, 0.999, 1e-8)},
		{optimizer.AdamW{LR: 0.1, WeightDecay: optimizer.Zero}, optimizer.Adam{LR: 0.1}},
		{optimizer.Lamb{LR: 0.1, WeightDecay: optimizer.Zero}, optimizer.NewLamb(0.1, 0)},
	} {
		if a, b := trained(tt.zero, nil), trained(tt.same, nil); !slices.Equal(a, b) {
			t.Errorf("%T%+v gives %v, %T%+v %v", tt.zero, tt.zero, a, tt.same, tt.same, b)
		}
	}
}

// What nobody checked is at least no crash.
func TestZeroSchedulesDontPanic(t *testing.T) {
	for _, s := range []optimizer.Schedule{optimizer.ExponentialDecay{}, optimizer.NaturalExpDecay{}, optimizer.InverseTimeDecay{},
		optimizer.PolynomialDecay{}, optimizer.PolynomialDecay{Cycle: true}, optimizer.NoamDecay{}, optimizer.LinearWarmup{},
		optimizer.LinearLR{}, optimizer.PiecewiseDecay{}, optimizer.PiecewiseDecay{Boundaries: []int64{1}, Values: []float64{1}},
		optimizer.StepDecay{}, optimizer.MultiStepDecay{}, optimizer.CosineAnnealingDecay{}, optimizer.CosineAnnealingWarmRestarts{},
		optimizer.OneCycleLR{}, optimizer.CyclicLR{}} {
		for _, n := range []int64{0, 1, 1000} {
			if rate := s.Rate(n); rate < 0 {
				t.Errorf("%T: rate %d is %v", s, n, rate)
			}
		}
	}
}

func TestReduceOnPlateau(t *testing.T) {
	tests := []struct {
		name    string
		plateau optimizer.ReduceOnPlateau
		metrics []float64
		rate    float64
	}{
		{"nothing measured", optimizer.ReduceOnPlateau{LR: 1}, nil, 1},
		{"always better", optimizer.ReduceOnPlateau{LR: 1, Patience: -1}, []float64{3, 2, 1}, 1},
		{"worse at once", optimizer.ReduceOnPlateau{LR: 1, Patience: -1}, []float64{1, 2, 3}, 0.01},
		{"ten are suffered", optimizer.ReduceOnPlateau{LR: 1}, make([]float64, 11), 1},
		{"eleven are not", optimizer.ReduceOnPlateau{LR: 1}, make([]float64, 12), 0.1},
		{"larger is better", optimizer.ReduceOnPlateau{LR: 1, Patience: -1, Max: true}, []float64{1, 2, 3}, 1},
		{"larger is not better enough", optimizer.ReduceOnPlateau{LR: 1, Patience: -1, Max: true, Absolute: true, Threshold: 5}, []float64{1, 5}, 0.1},
		{"cooling", optimizer.ReduceOnPlateau{LR: 1, Patience: -1, Cooldown: 2}, []float64{1, 2, 2, 2}, 0.1},
		{"cooled", optimizer.ReduceOnPlateau{LR: 1, Patience: -1, Cooldown: 2}, []float64{1, 2, 2, 2, 2}, 0.01},
		{"the floor", optimizer.ReduceOnPlateau{LR: 1, Patience: -1, Factor: 0.5, Min: 0.4}, []float64{1, 2, 2, 2, 2}, 0.4},
		{"better by too little", optimizer.ReduceOnPlateau{LR: 1, Patience: -1}, []float64{1, 1 - 5e-5}, 0.1},
		{"too small a fall by default", optimizer.ReduceOnPlateau{LR: 1e-8, Patience: -1}, []float64{1, 2}, 1e-8},
		{"too small a fall", optimizer.ReduceOnPlateau{LR: 1, Patience: -1, Epsilon: 0.95}, []float64{1, 2}, 1},
	}
	for _, tt := range tests {
		for _, m := range tt.metrics {
			tt.plateau.Step(m)
		}
		if got := tt.plateau.Rate(); math.Abs(got-tt.rate) > 1e-6*tt.rate {
			t.Errorf("%s: rate %v, want %v", tt.name, got, tt.rate)
		}
	}
}

// The printed form is what processes compare: it has to tell schedules apart and be the same in each process.
func TestSchedulesPrint(t *testing.T) {
	one := func(int64) float64 { return 1 }
	for want, s := range map[string]optimizer.Schedule{
		"{LR:0 Schedule:{LambdaDecay one LR:2}}":                               optimizer.LambdaDecay{"one", 2, one},
		"{LR:0 Schedule:{MultiplicativeDecay one LR:2}}":                       optimizer.MultiplicativeDecay{"one", 2, one},
		"{LR:0 Schedule:{Boundaries:[1 2] Values:[1 0.5 0.25]}}":               optimizer.PiecewiseDecay{[]int64{1, 2}, []float64{1, 0.5, 0.25}},
		"{LR:0 Schedule:{Steps:9 Schedule:{LR:1 Size:2 Gamma:0}}}":             optimizer.Every{9, optimizer.StepDecay{LR: 1, Size: 2}},
		"{LR:0 Schedule:{Steps:3 Start:0 End:1 After:{LambdaDecay one LR:2}}}": optimizer.LinearWarmup{3, 0, 1, optimizer.LambdaDecay{"one", 2, one}},
	} {
		if got := fmt.Sprintf("%+v", optimizer.SGD{Schedule: s}); got != want {
			t.Errorf("printed %s, want %s", got, want)
		}
	}
}
