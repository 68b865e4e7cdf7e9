package layout

import (
	"reflect"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/lr"
)

func earlier(scale float64) any {
	type settings struct{ Power float64 }
	type rule struct {
		optimizer.Rule
		Scale float64
		Inner settings
	}
	return rule{Rule: optimizer.SGD{LR: 0.1}, Scale: scale}
}

// later has the type of earlier with one more field, and one more in what is in it.
func later(scale float64, added, inside int) any {
	type settings struct {
		Power float64
		Added int
	}
	type rule struct {
		Added []int
		optimizer.Rule
		Scale float64
		Inner settings
	}
	return rule{Rule: optimizer.SGD{LR: 0.1}, Scale: scale, Added: make([]int, added), Inner: settings{Added: inside}}
}

// TestAddedFieldsAtZero: a field that a later version of a type has keeps processes apart where it is set, and nowhere
// else.
//
// Promise: [G12] a field that a later version adds to a rule keeps versions apart only where it is set
// Also: TestAllThatDiffersIsDescribed
func TestAddedFieldsAtZero(t *testing.T) {
	for want, rule := range map[string]any{
		`layout.rule{Rule:optimizer.SGD{LR:0.1} Scale:2}`:                  later(2, 0, 0),
		`layout.rule{Added:[0 0] Rule:optimizer.SGD{LR:0.1} Scale:2}`:      later(2, 2, 0),
		`layout.rule{Rule:optimizer.SGD{LR:0.1} Scale:2 Inner:{Added:-1}}`: later(2, 0, -1),
	} {
		if got := described(rule); got != want || (got == described(earlier(2))) != reflect.DeepEqual(rule, later(2, 0, 0)) {
			t.Errorf("%s, want %s; before it was %s", got, want, described(earlier(2)))
		}
	}
}

// TestAllThatDiffersIsDescribed: settings that differ in one thing, at any depth, are described in two ways.
func TestAllThatDiffersIsDescribed(t *testing.T) {
	all := []any{
		nil, optimizer.SGD{}, optimizer.SGD{LR: 1}, optimizer.SGD{LR: 1e-300}, optimizer.Adam{LR: 1}, optimizer.Adam{LR: 1, Dense: true},
		optimizer.SGD{Schedule: lr.ExponentialDecay{LR: 1, Gamma: 0.5}}, optimizer.SGD{Schedule: lr.NaturalExpDecay{LR: 1, Gamma: 0.5}},
		optimizer.SGD{Schedule: lr.InverseTimeDecay{LR: 1, Gamma: 0.5}}, optimizer.SGD{Schedule: lr.LinearWarmup{Steps: 1, After: lr.NaturalExpDecay{}}},
		optimizer.SGD{Schedule: lr.LinearWarmup{Steps: 1, After: lr.ExponentialDecay{}}}, optimizer.SGD{Schedule: lr.LinearWarmup{Steps: 1}},
		optimizer.SGD{Schedule: lr.LambdaDecay{LR: 1, Name: "a"}}, optimizer.SGD{Schedule: lr.LambdaDecay{LR: 1, Name: "b"}},
		optimizer.Decay{Rule: optimizer.Adamax{}, L2: 1}, optimizer.Decay{Rule: optimizer.Adagrad{}, L2: 1},
		optimizer.ClipByNorm{Rule: optimizer.SGD{}, Except: []string{"a b"}}, optimizer.ClipByNorm{Rule: optimizer.SGD{}, Except: []string{"a", "b"}},
		optimizer.PerParam{Rule: optimizer.SGD{}, By: map[string]optimizer.Rule{"a": optimizer.SGD{}}},
		optimizer.PerParam{Rule: optimizer.SGD{}, By: map[string]optimizer.Rule{"b": optimizer.SGD{}}},
		optimizer.PerParam{Rule: optimizer.SGD{}, By: map[string]optimizer.Rule{"a": optimizer.Momentum{}}},
		optimizer.Assign([]float32{1}), optimizer.Assign([]float32{2}),
		optimizer.Entry{}, optimizer.Entry{CountFilter: 1}, optimizer.Entry{Probability: 1}, optimizer.Entry{ShowClick: optimizer.ShowClick{Threshold: 1}},
		[2]int{0, 1}, [2]int{1, 0}, []int{0, 1, 0},
	}
	as := map[string]int{}
	for i, v := range all {
		if before, twice := as[described(v)]; twice {
			t.Errorf("%d and %d are both described as %s", before, i, described(v))
		}
		as[described(v)] = i
	}
	many := optimizer.PerParam{By: map[string]optimizer.Rule{"a": nil, "b": nil, "c": nil, "d": nil, "e": nil}}
	for range 20 {
		if got, want := described(many), "optimizer.PerParam{By:[\"a\":<nil> \"b\":<nil> \"c\":<nil> \"d\":<nil> \"e\":<nil>]}"; got != want {
			t.Fatalf("described as %s, want %s", got, want)
		}
	}
}

// byPointer is a rule of a program's own, with settings behind pointers.
type byPointer struct {
	optimizer.Rule
	Settings *pointedTo
	Scale    func(float64) float64
}

type pointedTo struct {
	LR   float64
	Next *pointedTo
	rate *float64
}

func double(x float64) float64 { return 2 * x }

// TestPointersAreDescribedByWhatTheyPointTo: two processes have the same where the same is set, at any address, also where pointers lead round in
// a circle.
func TestPointersAreDescribedByWhatTheyPointTo(t *testing.T) {
	rate := func(x float64) *float64 { return &x }
	circle := func() *pointedTo { p := &pointedTo{LR: 1, Next: &pointedTo{LR: 2}}; p.Next.Next = p; return p }
	for want, rule := range map[string]func() any{
		"*layout.byPointer&{}":                                                      func() any { return &byPointer{} },
		"*layout.byPointer<nil>":                                                    func() any { return (*byPointer)(nil) },
		"layout.byPointer{Settings:&{LR:1 rate:&0.5}}":                              func() any { return byPointer{Settings: &pointedTo{LR: 1, rate: rate(0.5)}} },
		"layout.byPointer{Settings:&{LR:1 rate:&0}}":                                func() any { return byPointer{Settings: &pointedTo{LR: 1, rate: rate(0)}} },
		"layout.byPointer{Settings:&{LR:1 Next:&{LR:2 Next:&-2}}}":                  func() any { return byPointer{Settings: circle()} },
		"layout.byPointer{Rule:*optimizer.SGD&{LR:1}}":                              func() any { return byPointer{Rule: &optimizer.SGD{LR: 1}} },
		"layout.byPointer{Scale:github.com/gofleet/gofleet/internal/layout.double}": func() any { return byPointer{Scale: double} },
	} {
		if one, two := described(rule()), described(rule()); one != want || two != want {
			t.Errorf("described as %s and %s, want %s", one, two, want)
		}
	}
}
