package optimizer_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/lr"
)

// own is a user's wrapper, without a Check of its own, and with a rule where reflection can't ask it.
type own struct {
	optimizer.Rule
	hidden optimizer.Rule
}

func (o own) Unwrap() optimizer.Rule {
	if o.hidden != nil {
		return o.hidden
	}
	return o.Rule
}

// steps are schedules of a user: one of a pointer, one of a function, one that prints itself, one that checks itself.
type (
	shared   struct{ rate *float64 }
	function func(n int64) float64
	named    struct {
		rate  func() float64
		after lr.Schedule
		note  any
	}
	strict   struct{ Inner lr.Schedule }
	labelled func(n int64) float64
	parts    struct{ Of []strict }
	lenient  struct{ optimizer.Adam }
	setter   struct{ rate float64 }
)

func (s shared) Rate(int64) float64     { return *s.rate }
func (f function) Rate(n int64) float64 { return f(n) }
func (s named) Rate(int64) float64      { return s.rate() }
func (named) String() string            { return "named" }
func (s strict) Rate(n int64) float64   { return s.Inner.Rate(n) }
func (s strict) Check() error           { return errors.New("strict is never content") }
func (f labelled) Rate(n int64) float64 { return f(n) }
func (labelled) String() string         { return "labelled" }
func (parts) Rate(int64) float64        { return 1 }
func (lenient) Check() error            { return nil }
func (s *setter) Rate(int64) float64    { return s.rate }

// TestPointersAreRefused: a pointer in a rule is another type than the one that trainers know, and prints as an address. It is refused wherever it
// hides, with what to write.
//
// Promise: [G8] rules, schedules and initializers that processes could not compare, or that would do nothing, are
// refused
// Also: TestEveryCheckerIsAsked, TestDecoratorChecks, TestWrongNumbersAreRefused
func TestPointersAreRefused(t *testing.T) {
	rate, sgd := 0.1, optimizer.SGD{LR: 0.1}
	by := func(r optimizer.Rule) optimizer.Rule {
		return optimizer.PerParam{Rule: sgd, By: map[string]optimizer.Rule{"w": r}}
	}
	for says, rule := range map[string]optimizer.Rule{
		"*optimizer.SGD is a pointer: write optimizer.SGD{…} without the &": &sgd,
		"*optimizer.PerParam is a pointer":                                  &optimizer.PerParam{Rule: sgd},
		"optimizer: Rule of optimizer.Decay: *optimizer.Momentum is":        optimizer.Decay{Rule: &optimizer.Momentum{}},
		"Rule of optimizer.ShowScale: *optimizer.Adagrad is":                optimizer.ShowScale{Rule: &optimizer.Adagrad{}},
		"Rule of optimizer.ClipByNorm: *optimizer.Adam is":                  optimizer.ClipByNorm{Rule: &optimizer.Adam{}, Norm: 1},
		"*optimizer.ClipByGlobalNorm is":                                    &optimizer.ClipByGlobalNorm{Rule: sgd, Norm: 1},
		"Rule of optimizer.ClipByValue: Rule of optimizer.Decay: *":         optimizer.ClipByValue{Rule: optimizer.Decay{Rule: &sgd}, Max: 1},
		`By of optimizer.PerParam: ["w"]: *optimizer.Lamb is`:               by(&optimizer.Lamb{}),
		`["w"]: Rule of optimizer.Decay: *optimizer.Lars`:                   by(optimizer.Decay{Rule: &optimizer.Lars{}}),
		"Schedule of optimizer.SGD: *lr.StepDecay is":                       optimizer.SGD{Schedule: &lr.StepDecay{LR: 1, Size: 1}},
		"After of lr.LinearWarmup: *lr.NoamDecay":                           optimizer.Adam{Schedule: lr.LinearWarmup{Steps: 1, End: 1, After: &lr.NoamDecay{}}},
		"Schedule of lr.Every: *lr.StepDecay":                               optimizer.Adam{Schedule: lr.Every{Steps: 1, Schedule: &lr.StepDecay{}}},
		"give the methods of optimizer_test.setter value receivers":         optimizer.SGD{Schedule: &setter{}},
		"rate of optimizer_test.shared: *float64 prints as an address":      optimizer.SGD{Schedule: shared{&rate}},
		"optimizer_test.function prints as an address":                      optimizer.SGD{Schedule: function(func(int64) float64 { return 1 })},
		"after of optimizer_test.named: *lr.StepDecay":                      optimizer.SGD{Schedule: named{after: &lr.StepDecay{}}},
		"hidden of optimizer_test.own: *optimizer.SGD":                      own{hidden: &sgd},
	} {
		err := optimizer.CheckRule(rule)
		refuses(t, err, says)
		if text := fmt.Sprint(err); !strings.HasPrefix(text, "optimizer: ") || strings.Count(text, "optimizer: ") > 1 {
			t.Errorf("%q: want the package's name before it, once", text)
		}
	}
	for _, rule := range []optimizer.Rule{by(optimizer.Decay{Rule: sgd}), own{Rule: sgd}, own{hidden: sgd},
		optimizer.SGD{Schedule: named{rate: func() float64 { return 1 }, note: &rate}}, optimizer.SGD{Schedule: labelled(math1)},
		lenient{optimizer.Adam{Beta1: 7}}, optimizer.SGD{Schedule: shared{}},
		optimizer.SGD{Schedule: lr.LambdaDecay{Name: "one", LR: 1, Factor: func(int64) float64 { return 1 }}},
	} {
		if err := optimizer.CheckRule(rule); err != nil {
			t.Errorf("%T: %v", rule, err)
		}
	}
}

// TestEveryCheckerIsAsked: also those in types of users that ask nobody.
func TestEveryCheckerIsAsked(t *testing.T) {
	bad := optimizer.Adam{Beta1: 7}
	for says, rule := range map[string]optimizer.Rule{
		"Rule of optimizer_test.own: adam: Beta1 is 7":              own{Rule: bad},
		"Rule of optimizer_test.own: adam: Beta1":                   own{hidden: bad},
		"Rule of optimizer.Decay: missing update rule":              own{Rule: optimizer.Decay{}},
		"Rule of optimizer.Decay: Rule of optimizer_test.own: adam": optimizer.Decay{Rule: own{Rule: bad}},
		"Schedule of optimizer.Adam: strict is never content":       optimizer.Adam{Schedule: strict{}},
		`Of of optimizer_test.parts: [0]: strict is never`:          optimizer.Adam{Schedule: parts{[]strict{{}}}},
		`param "w": Rule of optimizer.Decay: missing update rule`:   optimizer.PerParam{Rule: plain, By: map[string]optimizer.Rule{"w": optimizer.Decay{}}},
		"After of lr.LinearWarmup: strict is never":                 optimizer.Adam{Schedule: lr.LinearWarmup{Steps: 1, End: 1, After: strict{}}},
		"optimizer_test.own around a PerParam would do nothing":     own{Rule: optimizer.PerParam{Rule: optimizer.SGD{}}},
		"ClipByNorm: one clip by norm inside another":               optimizer.ClipByNorm{Norm: 1, Rule: own{Rule: optimizer.ClipByNorm{Norm: 1, Rule: optimizer.SGD{}}}},
	} {
		refuses(t, optimizer.CheckRule(rule), says)
	}
}

// table is a user's initializer that checks itself.
type table struct{ Rows map[uint64][]float32 }

func (table) Fill([]float32, uint64) {}
func (t table) Check() error {
	if t.Rows == nil {
		return errors.New("there are no rows")
	}
	return nil
}

// blend is a user's initializer that prints itself.
type blend struct{ Of optimizer.Initializer }

func (blend) Fill([]float32, uint64) {}
func (blend) String() string         { return "blend" }

func TestInitializersAreInspected(t *testing.T) {
	param := func(init optimizer.Initializer) error {
		p := optimizer.Param{Name: "w", Shape: []int{1}, W: make([]float32, 1), G: make([]float32, 1), Init: init}
		return p.Check()
	}
	refuses(t, param(&optimizer.Normal{}), `optimizer: Init of param "w": *optimizer.Normal is a pointer: write optimizer.Normal{…}`)
	refuses(t, param(blend{&optimizer.Normal{}}), `Of of optimizer_test.blend: *optimizer.Normal is a pointer`)
	refuses(t, param(table{}), `Init of param "w": there are no rows`)
	for _, init := range []optimizer.Initializer{nil, optimizer.Normal{Std: 1}, optimizer.Assign([]float32{1}), table{map[uint64][]float32{1: {2}}}} {
		if err := param(init); err != nil {
			t.Errorf("%T: %v", init, err)
		}
	}
}
