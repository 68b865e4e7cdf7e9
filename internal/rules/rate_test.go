package rules_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/internal/rules"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/lr"
)

// ratedRules are all rules with a learning rate, each with settings that are not its defaults.
var ratedRules = []optimizer.Rated{
	optimizer.SGD{}, optimizer.Momentum{Nesterov: true}, optimizer.Adam{Dense: true},
	optimizer.Adam{LR: 0.2, Beta1: -1, Beta2: 0.9, Epsilon: 1e-3}, optimizer.AdamW{WeightDecay: 0.1}, optimizer.Adamax{},
	optimizer.Adagrad{InitialAccumulator: 0.1},
	optimizer.DecayedAdagrad{}, optimizer.Adadelta{}, optimizer.RMSProp{Momentum: 0.5}, optimizer.RMSProp{Centered: true},
	optimizer.Ftrl{L1: 0.01, L2: 0.1}, optimizer.Lamb{}, optimizer.Lars{}, optimizer.DPSGD{Sigma: 1e-30},
	optimizer.SparseNaive{}, optimizer.SparseAdagrad{}, optimizer.StdAdagrad{}, optimizer.SparseAdam{}, optimizer.SparseSharedAdam{},
}

// withRate is the rule with other settings of its rate.
func withRate(r optimizer.Rule, lr float64, s lr.Schedule) optimizer.Rule {
	v := reflect.New(reflect.TypeOf(r)).Elem()
	v.Set(reflect.ValueOf(r))
	v.FieldByName("LR").SetFloat(lr)
	if s != nil {
		v.FieldByName("Schedule").Set(reflect.ValueOf(s))
	}
	return v.Interface().(optimizer.Rule)
}

// times is a schedule with a factor on it.
type times struct {
	lr.Schedule
	factor float64
}

func (s times) Rate(n int64) float64 { return s.factor * s.Schedule.Rate(n) }

// trained makes ten updates, under a factor that is another one from the sixth on.
func trained(two [2]optimizer.Rule, factors [2]float64, wrap func(optimizer.Rule) optimizer.Rule) []float32 {
	w, g := make([]float32, 9), make([]float32, 9)
	for i := range w {
		w[i] = float32(i)/4 - 1
	}
	state := make([]float32, two[0].StateLen(len(w)))
	rules.InitState(two[0], state)
	var s optimizer.State
	for step := range int64(10) {
		for i := range g {
			g[i] = float32(math.Sin(float64(i)*2.3 + float64(step)))
		}
		s.Step = step + 1
		half := step / 5
		s.SetRateFactor(factors[half])
		wrap(two[half]).Update(w, g, state, &s)
	}
	return w
}

// TestRateFactor holds every rule to what a factor is: an update with one is that of the rule whose own rate is so many times as large, bit
// for bit, inside wrappers and under schedules too.
//
// Promise: [G2] a rate that is set meanwhile acts alike in every rule, and in steps that rows missed
// Also: TestReplayedStepsHaveTheirRates (internal/table)
func TestRateFactor(t *testing.T) {
	const first, then = 0.5, 0.3
	schedule := lr.ExponentialDecay{LR: 0.4, Gamma: 0.9}
	wraps := map[string]func(optimizer.Rule) optimizer.Rule{
		"itself": func(r optimizer.Rule) optimizer.Rule { return r },
		"wrapped": func(r optimizer.Rule) optimizer.Rule {
			return optimizer.ClipByValue{Rule: optimizer.ShowScale{Rule: optimizer.Decay{Rule: r, L2: 0.01}}, Max: 0.8}
		},
	}
	for _, r := range ratedRules {
		for name, wrap := range wraps {
			t.Run(r.Name()+" "+name, func(t *testing.T) {
				for what, c := range map[string]struct{ by, own [2]optimizer.Rule }{
					"rate": {[2]optimizer.Rule{withRate(r, 0.2, nil), withRate(r, 0.2, nil)}, [2]optimizer.Rule{withRate(r, 0.2*first, nil), withRate(r, 0.2*then, nil)}},
					"schedule": {[2]optimizer.Rule{withRate(r, 0, schedule), withRate(r, 0, schedule)},
						[2]optimizer.Rule{withRate(r, 0, times{schedule, first}), withRate(r, 0, times{schedule, then})}},
				} {
					got, want := trained(c.by, [2]float64{first, then}, wrap), trained(c.own, [2]float64{}, wrap)
					if !slices.Equal(got, want) {
						t.Errorf("%s: with factors %v, with such rates %v", what, got, want)
					}
					if slices.Equal(got, trained(c.by, [2]float64{1, 1}, wrap)) {
						t.Errorf("%s: the factors change nothing", what)
					}
				}
			})
		}
	}
}

// TestEveryRuleIsRated finds the rules of this package by their source: those with a rate are in the table above.
func TestEveryRuleIsRated(t *testing.T) {
	files, err := filepath.Glob("../../optimizer/*.go")
	law.Check(t, err)
	found := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		law.Check(t, err)
		for _, name := range updaters(tree) {
			found++
			if !slices.ContainsFunc(ratedRules, func(r optimizer.Rated) bool { return reflect.TypeOf(r).Name() == name }) {
				t.Errorf("%s is not held to its rate", name)
			}
		}
	}
	if found < 17 {
		t.Errorf("%d rules were found", found)
	}
}

// updaters are the rules of a file; wrappers have no rate of their own.
func updaters(file *ast.File) (names []string) {
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv == nil || f.Name.Name != "Update" {
			continue
		}
		name := f.Recv.List[0].Type.(*ast.Ident).Name
		if !slices.Contains([]string{"Decay", "ClipByValue", "ShowScale"}, name) {
			names = append(names, name)
		}
	}
	return names
}

// unrated is a rule that knows no factor.
type unrated struct{}

func (unrated) Name() string                                 { return "unrated" }
func (unrated) StateLen(int) int                             { return 0 }
func (unrated) Update(w, g, _ []float32, s *optimizer.State) {}

func TestRatesThatCantBeSet(t *testing.T) {
	params := []*optimizer.Param{{Name: "a"}, {Name: "b"}, {Name: "still", Frozen: true}}
	per := optimizer.PerParam{Rule: optimizer.Decay{Rule: optimizer.Adam{LR: 0.01}}, By: map[string]optimizer.Rule{"b": optimizer.SGD{LR: 0.5}, "still": unrated{}}}
	if factor, err := rules.RateFactor(per, 0.002); err != nil || factor != 0.002/0.01 {
		t.Errorf("factor %v: %v", factor, err)
	}
	if err := rules.CheckRateFactor(per, params, 0.2); err != nil {
		t.Error(err)
	}
	rate := func(r optimizer.Rule, rate float64) error { _, err := rules.RateFactor(r, rate); return err }
	per.By["b"] = unrated{}
	for _, tt := range []struct {
		err  error
		says string
	}{
		{rate(optimizer.SGD{LR: 0.1}, 0), "the rate is to be 0"},
		{rate(optimizer.SGD{LR: 0.1}, -1), "to be -1"},
		{rate(optimizer.SGD{LR: 0.1}, math.NaN()), "to be NaN"},
		{rate(optimizer.SGD{LR: 0.1}, math.Inf(1)), "to be +Inf"},
		{rate(optimizer.SGD{Schedule: lr.NoamDecay{}}, 0.1), "follows lr.NoamDecay: set a factor"},
		{rate(unrated{}, 0.1), "no rate that can be set"},
		{rules.CheckRateFactor(optimizer.SGD{}, params, 0), "is to be 0"},
		{rules.CheckRateFactor(optimizer.SGD{}, params, math.Inf(1)), "is to be +Inf"},
		{rules.CheckRateFactor(per, params, 1), `param "b" has rule unrated`},
	} {
		if tt.err == nil || !strings.Contains(tt.err.Error(), tt.says) {
			t.Errorf("%v, want an error that says %q", tt.err, tt.says)
		}
	}
}

// TestRate: the rate of an update is the rule's own, wherever it is wrapped, or its schedule's at that update.
func TestRate(t *testing.T) {
	scheduled := optimizer.SGD{Schedule: lr.StepDecay{LR: 1, Size: 2}}
	for _, c := range []struct {
		rule   optimizer.Rule
		update int64
		want   float64
	}{
		{optimizer.Adam{LR: 0.5}, 0, 0.5}, {optimizer.PerParam{Rule: optimizer.Adam{LR: 0.5}}, 9, 0.5}, {optimizer.Adam{}, 1, 1e-3},
		{scheduled, 0, 0}, {scheduled, 1, 1}, {scheduled, 2, 1}, {scheduled, 3, 0.1}, {optimizer.PerParam{Rule: scheduled}, 3, 0.1},
	} {
		if got := rules.Rate(c.rule, c.update); got != c.want {
			t.Errorf("%v, update %d: %v, want %v", c.rule, c.update, got, c.want)
		}
	}
}
