package lr_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/lr"
)

func TestSchedules(t *testing.T) {
	tests := []struct {
		schedule lr.Schedule
		rates    map[int64]float64
	}{
		{lr.ExponentialDecay{LR: 1, Gamma: 0.5, Steps: 10}, map[int64]float64{0: 1, 10: 0.5, 5: math.Sqrt(0.5)}},
		{lr.ExponentialDecay{LR: 1, Gamma: 0.5, Steps: 10, Staircase: true}, map[int64]float64{9: 1, 10: 0.5, 19: 0.5, 20: 0.25}},
		{lr.NaturalExpDecay{LR: 1, Gamma: 1, Steps: 4, Staircase: true}, map[int64]float64{3: 1, 4: 1 / math.E}},
		{lr.InverseTimeDecay{LR: 1, Gamma: 1, Steps: 4}, map[int64]float64{0: 1, 4: 0.5, 2: 1 / 1.5}},
		{lr.PolynomialDecay{LR: 1, Steps: 4}, map[int64]float64{0: 1, 4: 0.0001, 400: 0.0001}},
		{lr.Every{Steps: 10, Schedule: lr.StepDecay{LR: 1, Size: 2}}, map[int64]float64{0: 1, 19: 1, 20: 0.1, 40: 0.01}},
		{lr.LinearWarmup{Steps: 4, End: 1, After: lr.StepDecay{LR: 1, Size: 3}}, map[int64]float64{2: 0.5, 4: 1, 6: 1, 7: 0.1}},
		{lr.LinearLR{LR: 3, Steps: 2}, map[int64]float64{0: 1, 1: 2, 2: 3, 9: 3}},
		{lr.MultiStepDecay{LR: 1, Milestones: []int64{3, 5}}, map[int64]float64{2: 1, 3: 0.1, 5: 0.01}},
		{lr.CosineAnnealingDecay{LR: 1, Steps: 5}, map[int64]float64{0: 1, 5: 0, 10: 1, 15: 0}},
		{lr.CosineAnnealingWarmRestarts{LR: 1, Steps: 4}, map[int64]float64{0: 1, 2: 0.5, 4: 1, 400_000_002: 0.5}},
		{lr.CosineAnnealingWarmRestarts{LR: 1, Steps: 4, Mult: 2}, map[int64]float64{4: 1, 8: 0.5, 12: 1, 20: 0.5, 28: 1}},
		{lr.OneCycleLR{Max: 1, Steps: 11, Rise: 0.5, Line: true, Divide: 10}, map[int64]float64{0: 0.1, 10: 0.0001, 99: 0.0001}},
		{lr.OneCycleLR{Max: 1, Steps: 20, Rise: 0.3, Line: true, Divide: 10, ThreePhase: true},
			map[int64]float64{0: 0.1, 5: 1, 10: 0.1, 19: 0.0001}},
		{lr.OneCycleLR{Max: 1, Steps: 1}, map[int64]float64{0: 0.0001}},
		{lr.CyclicLR{Base: 1, Max: 3, Up: 2}, map[int64]float64{0: 1, 1: 2, 2: 3, 3: 2, 4: 1, 6: 3}},
		{lr.CyclicLR{Max: 1, Up: 2, Mode: lr.ExpRange, Gamma: 0.5}, map[int64]float64{1: 0.25, 2: 0.25, 4: 0}},
	}
	for _, tt := range tests {
		if err := tt.schedule.(interface{ Check() error }).Check(); err != nil {
			t.Error(err)
		}
		for n, want := range tt.rates {
			if got := tt.schedule.Rate(n); !(math.Abs(got-want) < 1e-12) {
				t.Errorf("%T%+v: rate %d is %v, want %v", tt.schedule, tt.schedule, n, got, want)
			}
		}
	}
}

func TestScheduleChecks(t *testing.T) {
	bad := map[string]lr.Schedule{
		"ExponentialDecay: LR is -1":                     lr.ExponentialDecay{LR: -1},
		"NaturalExpDecay: Gamma is -1":                   lr.NaturalExpDecay{LR: 1, Gamma: -1},
		"InverseTimeDecay: LR is NaN":                    lr.InverseTimeDecay{LR: math.NaN()},
		"PolynomialDecay: Steps is 0":                    lr.PolynomialDecay{LR: 1},
		"NoamDecay: Model is 0":                          lr.NoamDecay{Warmup: 1},
		"After of lr.LinearWarmup: StepDecay: Size is 0": lr.LinearWarmup{Steps: 1, End: 1, After: lr.StepDecay{LR: 1}},
		"LinearLR: Steps is -5":                          lr.LinearLR{LR: 1, Steps: -5},
		"2 Values for 3 Boundaries":                      lr.PiecewiseDecay{Boundaries: []int64{1, 2, 3}, Values: []float64{1, 2}},
		"Boundaries are [2 2]":                           lr.PiecewiseDecay{Boundaries: []int64{2, 2}, Values: []float64{1, 2, 3}},
		"MultiStepDecay: Milestones are [5 4]":           lr.MultiStepDecay{LR: 1, Milestones: []int64{5, 4}},
		"LambdaDecay: Name and Factor":                   lr.LambdaDecay{LR: 1, Factor: func(int64) float64 { return 1 }},
		"MultiplicativeDecay: Name and Factor":           lr.MultiplicativeDecay{Name: "x", LR: 1},
		"Every: Schedule is missing":                     lr.Every{Steps: 1},
		"CosineAnnealingDecay: Steps is 0":               lr.CosineAnnealingDecay{LR: 1},
		"CosineAnnealingWarmRestarts: Mult is -1":        lr.CosineAnnealingWarmRestarts{LR: 1, Steps: 1, Mult: -1},
		"OneCycleLR: Rise is 0.6: it must be a part":     lr.OneCycleLR{Max: 1, Steps: 10, Rise: 0.6, ThreePhase: true},
		`CyclicLR: Mode is "square"`:                     lr.CyclicLR{Max: 1, Up: 1, Mode: "square"},
		"ExponentialDecay: Steps is -5":                  lr.ExponentialDecay{LR: 1, Gamma: 1, Steps: -5},
		"PolynomialDecay: Power is -1":                   lr.PolynomialDecay{LR: 1, Steps: 1, Power: -1},
		"PiecewiseDecay: Values[1] is -1":                lr.PiecewiseDecay{Boundaries: []int64{2}, Values: []float64{1, -1}},
		`CyclicLR: Gamma is 0.5: it is for mode "e`:      lr.CyclicLR{Max: 1, Up: 1, Gamma: 0.5},
	}
	for says, s := range bad {
		refuses(t, optimizer.CheckRule(optimizer.SGD{Schedule: s}), says)
	}
}

// TestSchedulesThatTrainNothing: a setting that is missing leaves no rate at 0, and none that never changes, without a word.
func TestSchedulesThatTrainNothing(t *testing.T) {
	one := func(int64) float64 { return 1 }
	for says, s := range map[string]lr.Schedule{
		"ExponentialDecay: Gamma is 0":                                   lr.ExponentialDecay{LR: 1},
		"ExponentialDecay: LR is 0":                                      lr.ExponentialDecay{Gamma: 0.9},
		"NaturalExpDecay: Gamma is 0":                                    lr.NaturalExpDecay{LR: 1},
		"NaturalExpDecay: LR is 0":                                       lr.NaturalExpDecay{Gamma: 0.9},
		"InverseTimeDecay: Gamma is 0":                                   lr.InverseTimeDecay{LR: 1},
		"InverseTimeDecay: LR is 0":                                      lr.InverseTimeDecay{Gamma: 0.9},
		"PolynomialDecay: LR is 0":                                       lr.PolynomialDecay{Steps: 9},
		"LinearWarmup: End is 0":                                         lr.LinearWarmup{Steps: 9},
		"LinearWarmup: End is 0: it is the rate to warm up to":           lr.LinearWarmup{Steps: 9, Start: 0.1, After: lr.StepDecay{LR: 1, Size: 1}},
		"LinearLR: LR is 0":                                              lr.LinearLR{Steps: 9},
		"LinearLR: Start is 1 and End 0, so that the rate never changes": lr.LinearLR{LR: 1, Steps: 10, Start: 1},
		"StepDecay: LR is 0":                                             lr.StepDecay{Size: 1},
		"MultiStepDecay: LR is 0":                                        lr.MultiStepDecay{Milestones: []int64{1}},
		"LambdaDecay: LR is 0":                                           lr.LambdaDecay{Name: "one", Factor: one},
		"MultiplicativeDecay: LR is 0":                                   lr.MultiplicativeDecay{Name: "one", Factor: one},
		"CosineAnnealingDecay: LR is 0":                                  lr.CosineAnnealingDecay{Steps: 9},
		"CosineAnnealingWarmRestarts: LR is 0":                           lr.CosineAnnealingWarmRestarts{Steps: 9},
		"OneCycleLR: Max is 0":                                           lr.OneCycleLR{Steps: 9},
		"CyclicLR: Max is 0":                                             lr.CyclicLR{Up: 9},
		// A default end that training would climb to.
		"PolynomialDecay: End is 0, which means 0.0001 and is not below LR": lr.PolynomialDecay{LR: 5e-5, Steps: 9},
		"OneCycleLR: End is 0, which means 0.0001 and is not below Max":     lr.OneCycleLR{Max: 5e-5, Steps: 9},
	} {
		refuses(t, optimizer.CheckRule(optimizer.SGD{Schedule: s}), says)
	}
	for _, s := range []lr.Schedule{lr.PolynomialDecay{LR: 5e-5, Steps: 9, End: 1e-5}, lr.OneCycleLR{Max: 5e-5, Steps: 9, End: 1e-5}} {
		if err := optimizer.CheckRule(optimizer.SGD{Schedule: s}); err != nil {
			t.Error(err)
		}
	}
	refuses(t, optimizer.CheckRule(optimizer.Adam{Epsilon: 1e-300}), "Epsilon is 1e-300, which is 0 for a float32")
}

// What nobody checked is at least no crash.
func TestZeroSchedulesDontPanic(t *testing.T) {
	for _, s := range []lr.Schedule{lr.ExponentialDecay{}, lr.NaturalExpDecay{}, lr.InverseTimeDecay{},
		lr.PolynomialDecay{}, lr.PolynomialDecay{Cycle: true}, lr.NoamDecay{}, lr.LinearWarmup{},
		lr.LinearLR{}, lr.PiecewiseDecay{}, lr.PiecewiseDecay{Boundaries: []int64{1}, Values: []float64{1}},
		lr.StepDecay{}, lr.MultiStepDecay{}, lr.CosineAnnealingDecay{}, lr.CosineAnnealingWarmRestarts{},
		lr.OneCycleLR{}, lr.CyclicLR{}} {
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
		plateau lr.ReduceOnPlateau
		metrics []float64
		rate    float64
	}{
		{"nothing measured", lr.ReduceOnPlateau{LR: 1}, nil, 1},
		{"always better", lr.ReduceOnPlateau{LR: 1, Patience: -1}, []float64{3, 2, 1}, 1},
		{"worse at once", lr.ReduceOnPlateau{LR: 1, Patience: -1}, []float64{1, 2, 3}, 0.01},
		{"ten are suffered", lr.ReduceOnPlateau{LR: 1}, make([]float64, 11), 1},
		{"eleven are not", lr.ReduceOnPlateau{LR: 1}, make([]float64, 12), 0.1},
		{"larger is better", lr.ReduceOnPlateau{LR: 1, Patience: -1, Max: true}, []float64{1, 2, 3}, 1},
		{"larger is not better enough", lr.ReduceOnPlateau{LR: 1, Patience: -1, Max: true, Absolute: true, Threshold: 5}, []float64{1, 5}, 0.1},
		{"cooling", lr.ReduceOnPlateau{LR: 1, Patience: -1, Cooldown: 2}, []float64{1, 2, 2, 2}, 0.1},
		{"cooled", lr.ReduceOnPlateau{LR: 1, Patience: -1, Cooldown: 2}, []float64{1, 2, 2, 2, 2}, 0.01},
		{"the floor", lr.ReduceOnPlateau{LR: 1, Patience: -1, Factor: 0.5, Min: 0.4}, []float64{1, 2, 2, 2, 2}, 0.4},
		{"better by too little", lr.ReduceOnPlateau{LR: 1, Patience: -1}, []float64{1, 1 - 5e-5}, 0.1},
		{"too small a fall by default", lr.ReduceOnPlateau{LR: 1e-8, Patience: -1}, []float64{1, 2}, 1e-8},
		{"too small a fall", lr.ReduceOnPlateau{LR: 1, Patience: -1, Epsilon: 0.95}, []float64{1, 2}, 1},
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
	for want, s := range map[string]lr.Schedule{
		"{LR:0 Schedule:{LambdaDecay one LR:2}}":                               lr.LambdaDecay{"one", 2, one},
		"{LR:0 Schedule:{MultiplicativeDecay one LR:2}}":                       lr.MultiplicativeDecay{"one", 2, one},
		"{LR:0 Schedule:{Boundaries:[1 2] Values:[1 0.5 0.25]}}":               lr.PiecewiseDecay{[]int64{1, 2}, []float64{1, 0.5, 0.25}},
		"{LR:0 Schedule:{Steps:9 Schedule:{LR:1 Size:2 Gamma:0}}}":             lr.Every{9, lr.StepDecay{LR: 1, Size: 2}},
		"{LR:0 Schedule:{Steps:3 Start:0 End:1 After:{LambdaDecay one LR:2}}}": lr.LinearWarmup{3, 0, 1, lr.LambdaDecay{"one", 2, one}},
	} {
		if got := fmt.Sprintf("%+v", optimizer.SGD{Schedule: s}); got != want {
			t.Errorf("printed %s, want %s", got, want)
		}
	}
}

func refuses(t *testing.T, err error, says string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("error %v, want one that says %q", err, says)
	}
}
