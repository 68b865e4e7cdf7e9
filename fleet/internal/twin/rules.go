package twin

import (
	"cmp"
	"reflect"

	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/lr"
)

// Rule is an update rule of one param as data. Zero fields mean the rule's defaults.
type Rule struct {
	Kind     string
	LR       float64  `json:",omitempty"`
	Schedule Schedule `json:",omitzero"`
	Nesterov bool     `json:",omitempty"` // momentum
	Dense    bool     `json:",omitempty"` // adam
	Centered bool     `json:",omitempty"` // rmsprop
	Momentum float64  `json:",omitempty"` // rmsprop
	Shrink   float64  `json:",omitempty"` // ftrl's L1 and L2
	L1       float64  `json:",omitempty"` // decay
	L2       float64  `json:",omitempty"` // decay
	Max      float64  `json:",omitempty"` // clip by value
}

// Schedule is a learning rate over updates; no kind is none.
type Schedule struct {
	Kind string
	LR   float64
}

// Rules are those of all params, by name where a param has its own, inside a clip of a step's gradients by norm.
type Rules struct {
	All    Rule
	By     map[string]Rule `json:",omitempty"`
	Clip   string          `json:",omitempty"` // "", "each" or "all"
	Norm   float64         `json:",omitempty"`
	Except []string        `json:",omitempty"`
}

// Of is the rule of a param.
func (r Rules) Of(name string) Rule {
	if own, ok := r.By[name]; ok {
		return own
	}
	return r.All
}

// called are the names of rules whose kind has another.
var called = map[string]string{"decayed": "decayed_adagrad", "lars": "lars_momentum", "naive": "sparse_naive",
	"shared": "sparse_adagrad", "std": "std_adagrad", "rowadam": "sparse_adam", "twoadam": "sparse_shared_adam"}

// called is the rule's name, as the door says it.
func (r Rule) called() string { return cmp.Or(called[r.Kind], r.Kind) }

// rules are those of dense params and of rows by kind, as the door takes them, without what a Rule says.
var rules = map[string]optimizer.Rule{
	"sgd": optimizer.SGD{}, "momentum": optimizer.Momentum{}, "adam": optimizer.Adam{},
	"adamw": optimizer.AdamW{}, "adamax": optimizer.Adamax{}, "adagrad": optimizer.Adagrad{},
	"decayed": optimizer.DecayedAdagrad{}, "adadelta": optimizer.Adadelta{}, "rmsprop": optimizer.RMSProp{},
	"ftrl": optimizer.Ftrl{}, "lamb": optimizer.Lamb{}, "lars": optimizer.Lars{Coeff: 0.1},
	"dpsgd": optimizer.DPSGD{}, // of a loop
	"naive": optimizer.SparseNaive{}, "shared": optimizer.SparseAdagrad{}, "std": optimizer.StdAdagrad{},
	"rowadam": optimizer.SparseAdam{}, "twoadam": optimizer.SparseSharedAdam{}}

// plain is the rule alone, as the door takes it: a field that has a name of the door's is one of it.
func (r Rule) plain() optimizer.Rule {
	door := reflect.New(reflect.TypeOf(rules[r.Kind])).Elem()
	door.Set(reflect.ValueOf(rules[r.Kind]))
	fields := map[string]any{"LR": r.LR, "Nesterov": r.Nesterov, "Dense": r.Dense, "Centered": r.Centered}
	switch r.Kind {
	case "rmsprop":
		fields["Momentum"] = r.Momentum
	case "ftrl":
		fields["L1"], fields["L2"] = r.Shrink, r.Shrink
	}
	if s := schedules[r.Schedule.Kind](r.Schedule.LR); s != nil {
		fields["Schedule"] = s
	}
	for name, value := range fields {
		if f := door.FieldByName(name); f.IsValid() {
			f.Set(reflect.ValueOf(value))
		}
	}
	return door.Interface().(optimizer.Rule)
}

// schedules by kind, as the door takes them. A schedule that reaches 0 leaves a rule that divides by its rate nothing
// to do.
var schedules = map[string]func(rate float64) lr.Schedule{
	"":            func(float64) lr.Schedule { return nil },
	"exponential": func(rate float64) lr.Schedule { return lr.ExponentialDecay{LR: rate, Gamma: 0.8} },
	"staircase": func(rate float64) lr.Schedule {
		return lr.ExponentialDecay{LR: rate, Gamma: 0.5, Steps: 3, Staircase: true}
	},
	"inverse": func(rate float64) lr.Schedule { return lr.InverseTimeDecay{LR: rate, Gamma: 0.3} },
	"piecewise": func(rate float64) lr.Schedule {
		return lr.PiecewiseDecay{Boundaries: []int64{2, 5}, Values: []float64{rate, rate / 4, rate / 2}}
	},
	"steps": func(rate float64) lr.Schedule { return lr.StepDecay{LR: rate, Size: 3, Gamma: 0.5} },
	"warmup": func(rate float64) lr.Schedule {
		after := lr.NaturalExpDecay{LR: rate, Gamma: 0.1}
		return lr.LinearWarmup{Steps: 5, Start: rate / 10, End: rate, After: after}
	},
}

// door is the rule as the door takes it.
func (r Rule) door() optimizer.Rule {
	rule := r.plain()
	if r.L1 != 0 || r.L2 != 0 {
		rule = optimizer.Decay{Rule: rule, L1: r.L1, L2: r.L2}
	}
	if r.Max != 0 {
		rule = optimizer.ClipByValue{Rule: rule, Max: r.Max}
	}
	return rule
}

// door is all of the rules as the door takes them.
func (r Rules) door() optimizer.Rule {
	rule := r.All.door()
	if len(r.By) > 0 {
		by := map[string]optimizer.Rule{}
		for name, own := range r.By {
			by[name] = own.door()
		}
		rule = optimizer.PerParam{Rule: rule, By: by}
	}
	switch r.Clip {
	case "each":
		rule = optimizer.ClipByNorm{Rule: rule, Norm: r.Norm, Except: r.Except}
	case "all":
		rule = optimizer.ClipByGlobalNorm{Rule: rule, Norm: r.Norm, Except: r.Except}
	}
	return rule
}
