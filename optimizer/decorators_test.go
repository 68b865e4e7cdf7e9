package optimizer_test

import (
	"math"
	"testing"

	"github.com/gofleet/gofleet/internal/rules"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/optimizertest"
)

func clip64(g float64) float64 { return math.Min(math.Max(g, -0.5), 0.25) }

// changed makes a twin that sees another gradient.
func changed(inner twin, gradient func(w, g float64) float64) twin {
	return func(w, g, state []float64, step int64) {
		other := make([]float64, len(g))
		for i := range g {
			other[i] = gradient(w[i], g[i])
		}
		inner(w, other, state, step)
	}
}

func TestDecorators(t *testing.T) {
	adam, adamTwin := optimizer.Adam{LR: 0.01}, adamTwin(0.01, 0.9, 0.999, 1e-8, 0)
	decayed := func(w, g float64) float64 { return g + 0.1*math.Copysign(1, w) + 0.2*w }
	tests := map[string]struct {
		rule optimizer.Rule
		exam optimizertest.Exam
	}{
		"decay": {optimizer.Decay{Rule: adam, L1: 0.1, L2: 0.2},
			optimizertest.Exam{Twin: changed(adamTwin, decayed), MovesOnZero: true}},
		"clip": {optimizer.ClipByValue{Rule: adam, Min: -0.5, Max: 0.25},
			optimizertest.Exam{Twin: changed(adamTwin, func(_, g float64) float64 { return clip64(g) })}},
		"clip, then decay": {optimizer.ClipByValue{Rule: optimizer.Decay{Rule: adam, L1: 0.1, L2: 0.2}, Min: -0.5, Max: 0.25},
			optimizertest.Exam{Twin: changed(adamTwin, func(w, g float64) float64 { return decayed(w, clip64(g)) }), MovesOnZero: true}},
		"initial state": {optimizer.Decay{Rule: optimizer.Adagrad{InitialAccumulator: 0.5}, L2: 0.1}, optimizertest.Exam{MovesOnZero: true}},
		"whole":         {optimizer.Decay{Rule: optimizer.Lars{}, L2: 0.1}, optimizertest.Exam{MovesOnZero: true, Whole: true}},
		"shows":         {optimizer.ShowScale{Rule: adam, Batch: 8}, optimizertest.Exam{Twin: adamTwin}}, // which nobody counts here
		"a norm's":      {optimizer.ClipByNorm{Rule: adam, Norm: 1}, optimizertest.Exam{Twin: adamTwin}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { optimizertest.Run(t, tt.rule, tt.exam) })
	}
}

// A wrapper has the powers of the rule inside.
func TestWrappersForward(t *testing.T) {
	wrap := []func(optimizer.Rule) optimizer.Rule{
		func(r optimizer.Rule) optimizer.Rule { return optimizer.Decay{Rule: r} },
		func(r optimizer.Rule) optimizer.Rule { return optimizer.ClipByValue{Rule: r, Max: 1} },
		func(r optimizer.Rule) optimizer.Rule { return optimizer.ClipByNorm{Rule: r, Norm: 1} },
		func(r optimizer.Rule) optimizer.Rule { return optimizer.ClipByGlobalNorm{Rule: r, Norm: 1} },
		func(r optimizer.Rule) optimizer.Rule { return optimizer.PerParam{Rule: r} },
		func(r optimizer.Rule) optimizer.Rule { return optimizer.ShowScale{Rule: r} },
	}
	for _, w := range wrap {
		if r := w(optimizer.Adam{Dense: true}); !rules.Sweeps(r) || r.Name() != "adam" || r.StateLen(3) != 6 {
			t.Errorf("%T forgets that its Adam sweeps, or its name or state", r)
		}
		if r := w(optimizer.Adam{}); rules.Sweeps(r) || rules.NeedsWhole(r) {
			t.Errorf("%T has powers that its Adam has not", r)
		}
		if r := w(optimizer.DPSGD{}); !rules.IsRandom(r) || rules.IsRandom(w(optimizer.SGD{})) {
			t.Errorf("%T: lots of the rule inside are hidden, or drawn by nobody", r)
		}
		if r := w(optimizer.Lamb{}); !rules.NeedsWhole(r) {
			t.Errorf("%T forgets that its Lamb needs variables whole", r)
		}
		state := []float32{0, 0}
		if rules.InitState(w(optimizer.Adagrad{InitialAccumulator: 3}), state); state[1] != 3 {
			t.Errorf("%T: state begins at %v, want 3", w(nil), state)
		}
	}
}

// calm is a rule of a user with powers that its settings switch off.
type calm struct{ optimizer.SGD }

func (calm) WholeVariable() bool { return false }
func (calm) Random() bool        { return false }
func (calm) Sweeps() bool        { return false }

func TestPowersCanBeOff(t *testing.T) {
	if r := (calm{}); rules.NeedsWhole(r) || rules.IsRandom(r) || rules.Sweeps(r) {
		t.Error("a rule that says no is not believed")
	}
}

// stepOf is a dense gradient of length 5, a frozen one and rows with a gradient of length 12.
func stepOf() ([]*optimizer.Param, []optimizer.Rows) {
	dense := &optimizer.Param{Name: "w", Shape: []int{2}, G: []float32{3, -4}}
	frozen := &optimizer.Param{Name: "f", Shape: []int{1}, G: []float32{100}, Frozen: true}
	emb := &optimizer.Param{Name: "e", Shape: []int{0, 1}, Embedding: true}
	still := &optimizer.Param{Name: "s", Shape: []int{0, 1}, Embedding: true, Frozen: true}
	return []*optimizer.Param{dense, frozen, emb, still}, []optimizer.Rows{
		{Param: emb, IDs: []uint64{1, 2}, G: []float32{12, 0}}, {Param: still, IDs: []uint64{1}, G: []float32{100}},
	}
}

func TestClipByNorms(t *testing.T) {
	tests := []struct {
		name  string
		rule  optimizer.Rule
		dense float32 // what remains of −4
		row   float32 // what remains of 12
	}{
		{"no clip", optimizer.SGD{}, -4, 12},
		{"each", optimizer.ClipByNorm{Rule: optimizer.SGD{}, Norm: 6}, -4, 6},
		{"all", optimizer.ClipByGlobalNorm{Rule: optimizer.SGD{}, Norm: 6.5}, -2, 6},
		{"long enough", optimizer.ClipByGlobalNorm{Rule: optimizer.SGD{}, Norm: 13}, -4, 12},
		{"around PerParam", optimizer.ClipByGlobalNorm{Rule: optimizer.PerParam{Rule: optimizer.SGD{}}, Norm: 6.5}, -2, 6},
	}
	for _, tt := range tests {
		params, rows := stepOf()
		rules.ClipGradients(tt.rule, params, rows)
		if got := params[0].G[1]; got != tt.dense {
			t.Errorf("%s: %v remains of -4, want %v", tt.name, got, tt.dense)
		}
		if got := rows[0].G[0]; got != tt.row {
			t.Errorf("%s: %v remains of 12, want %v", tt.name, got, tt.row)
		}
		if params[1].G[0] != 100 || rows[1].G[0] != 100 {
			t.Errorf("%s: what is frozen was clipped", tt.name)
		}
	}
}

// TestShowScale: a row that two of eight samples show learns from the mean of their gradients.
func TestShowScale(t *testing.T) {
	rule := optimizer.ShowScale{Rule: optimizer.SGD{LR: 1}, Batch: 8}
	w, g := []float32{0, 1}, []float32{0.5, -1}
	rule.Update(w, g, nil, &optimizer.State{Step: 1, Row: true, Show: 2})
	if w[0] != -2 || w[1] != 5 || g[0] != 0.5 {
		t.Errorf("w is %v and g %v, want [-2 5] and as it was", w, g)
	}
}

// TestClipSpares: what is excepted is neither shortened nor does it count for the others.
func TestClipSpares(t *testing.T) {
	except := []string{"e"}
	for name, rule := range map[string]optimizer.Rule{
		"norm":        optimizer.ClipByNorm{Rule: optimizer.SGD{}, Norm: 2.5, Except: except},
		"global norm": optimizer.ClipByGlobalNorm{Rule: optimizer.SGD{}, Norm: 2.5, Except: except},
	} {
		params, rows := stepOf()
		rules.ClipGradients(rule, params, rows)
		if d, r := params[0].G[1], rows[0].G[0]; d != -2 || r != 12 {
			t.Errorf("%s: %v and %v remain of -4 and 12, want -2 and 12", name, d, r)
		}
	}
}

// TestCheckParams: names of params that are not there are mistakes, wherever a rule has them.
func TestCheckParams(t *testing.T) {
	params := []*optimizer.Param{{Name: "w"}, {Name: "emb"}}
	per := func(name string) optimizer.Rule {
		return optimizer.PerParam{Rule: optimizer.SGD{}, By: map[string]optimizer.Rule{name: optimizer.Adam{}, "w": optimizer.Adam{}}}
	}
	for says, rule := range map[string]optimizer.Rule{
		`optimizer.PerParam names unknown param "v"; want one of "w", "emb"`: per("v"),
		`PerParam names unknown param "x"`:                                   optimizer.ClipByNorm{Rule: per("x"), Norm: 1},
		`ClipByGlobalNorm names unknown param "y"`:                           optimizer.ClipByGlobalNorm{Rule: per("emb"), Norm: 1, Except: []string{"emb", "y"}},
		`ClipByNorm names unknown param "z"`:                                 optimizer.ClipByNorm{Rule: optimizer.SGD{}, Norm: 1, Except: []string{"z"}},
	} {
		refuses(t, optimizer.CheckRule(rule, params...), says)
	}
	for _, rule := range []optimizer.Rule{optimizer.SGD{}, per("emb"), optimizer.ClipByNorm{Rule: per("emb"), Norm: 1, Except: []string{"w"}}} {
		if err := optimizer.CheckRule(rule, params...); err != nil {
			t.Error(err)
		}
	}
	many := make([]*optimizer.Param, 25)
	for i := range many {
		many[i] = &optimizer.Param{Name: "p"}
	}
	refuses(t, optimizer.CheckRule(per("v"), many...), "and 5 more")
}

func TestClippedNaNShows(t *testing.T) {
	params, rows := stepOf()
	params[0].G[0] = float32(math.NaN())
	rules.ClipGradients(optimizer.ClipByGlobalNorm{Rule: optimizer.SGD{}, Norm: 1}, params, rows)
	if g := rows[0].G[0]; g == g {
		t.Errorf("one gradient is NaN, and another, that shares its norm, is %v", g)
	}
}

func TestRuleFor(t *testing.T) {
	own, rest := optimizer.Adagrad{LR: 0.5}, optimizer.Adam{LR: 0.1}
	per := optimizer.PerParam{Rule: rest, By: map[string]optimizer.Rule{"emb": own}}
	for _, tt := range []struct {
		rule optimizer.Rule
		p    optimizer.Param
		want optimizer.Rule
	}{
		{rest, optimizer.Param{Name: "emb"}, rest},
		{per, optimizer.Param{Name: "emb"}, own},
		{per, optimizer.Param{Name: "w"}, rest},
		{optimizer.ClipByNorm{Rule: per, Norm: 1}, optimizer.Param{Name: "emb"}, own},
		{per, optimizer.Param{Name: "emb", Frozen: true}, nil},
	} {
		if got := rules.For(tt.rule, &tt.p); got != tt.want {
			t.Errorf("the rule of %+v is %+v, want %+v", tt.p, got, tt.want)
		}
	}
}

func TestDecoratorChecks(t *testing.T) {
	per := optimizer.PerParam{Rule: optimizer.SGD{}}
	norm := optimizer.ClipByNorm{Rule: optimizer.SGD{}, Norm: 1}
	for says, rule := range map[string]optimizer.Rule{
		"missing update rule":                                    optimizer.Decay{},
		"show scale: Batch is -8":                                optimizer.ShowScale{Rule: optimizer.SGD{}, Batch: -8},
		"decay: L2 is -1":                                        optimizer.Decay{Rule: optimizer.SGD{}, L2: -1},
		"go inside a PerParam":                                   optimizer.Decay{Rule: per},
		"Min is 2 and Max is 1":                                  optimizer.ClipByValue{Rule: optimizer.SGD{}, Min: 2, Max: 1},
		"Max is 0: Max must be":                                  optimizer.ClipByValue{Rule: optimizer.SGD{}},
		"decay, clips by value and":                              optimizer.ClipByValue{Rule: per, Max: 1},
		"clip by norm: Norm is 0":                                optimizer.ClipByNorm{Rule: optimizer.SGD{}},
		"global norm: Norm is NaN":                               optimizer.ClipByGlobalNorm{Rule: optimizer.SGD{}, Norm: math.NaN()},
		"one clip by norm inside":                                optimizer.ClipByGlobalNorm{Rule: norm, Norm: 1},
		"sgd: LR is -1":                                          optimizer.ClipByNorm{Rule: optimizer.SGD{LR: -1}, Norm: 1},
		`["w"]: adam: Beta1 is 7`:                                optimizer.PerParam{Rule: optimizer.SGD{}, By: map[string]optimizer.Rule{"w": optimizer.Adam{Beta1: 7}}},
		"a PerParam inside another":                              optimizer.PerParam{Rule: optimizer.SGD{}, By: map[string]optimizer.Rule{"w": per}},
		"PerParam: a PerParam inside another":                    optimizer.PerParam{Rule: optimizer.PerParam{Rule: optimizer.SGD{}}},
		"Rule of optimizer.PerParam: a clip by norm goes around": optimizer.PerParam{Rule: norm},
		"goes around the PerParam":                               optimizer.PerParam{Rule: optimizer.SGD{}, By: map[string]optimizer.Rule{"w": norm}},
	} {
		refuses(t, optimizer.CheckRule(rule), says)
	}
	good := optimizer.ClipByGlobalNorm{Norm: 1, Rule: optimizer.PerParam{
		Rule: optimizer.Decay{Rule: optimizer.Adam{}, L2: 0.1},
		By:   map[string]optimizer.Rule{"b": optimizer.Adam{}},
	}}
	if err := optimizer.CheckRule(good); err != nil {
		t.Error(err)
	}
}
