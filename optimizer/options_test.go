package optimizer_test

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/local"
	"github.com/gofleet/gofleet/optimizer/lr"
)

var (
	plain = optimizer.SGD{LR: 0.1}
	adam  = optimizer.Adam{LR: 0.1}
	half  = lr.StepDecay{LR: 0.05, Size: 3, Gamma: 0.5}
	tight = optimizer.Bounds{Low: -0.1, High: 0.1}
	once  = optimizer.ShowClick{Threshold: 1}
)

// options has two values of each type that takes options, which differ in the fields that the row is about: each of them alone,
// taken from the second into the first, must change the result. A field that is in no row fails TestEveryOptionActs.
var options = []struct {
	from, to any
	effect   func(testing.TB, any) string // nil is the effect of its kind
}{
	{from: optimizer.SGD{}, to: optimizer.SGD{LR: 0.1, Schedule: half}},
	{from: optimizer.Momentum{}, to: optimizer.Momentum{LR: 0.1, Schedule: half, Momentum: 0.5, Nesterov: true}},
	{from: optimizer.Adam{}, to: optimizer.Adam{LR: 0.1, Schedule: half, Beta1: 0.5, Beta2: 0.5, Epsilon: 0.1, Dense: true}},
	{from: optimizer.AdamW{}, to: optimizer.AdamW{LR: 0.1, Schedule: half, Beta1: 0.5, Beta2: 0.5, Epsilon: 0.1, WeightDecay: 0.1}},
	{from: optimizer.Adamax{}, to: optimizer.Adamax{LR: 0.1, Schedule: half, Beta1: 0.5, Beta2: 0.5, Epsilon: 0.1}},
	{from: optimizer.Adagrad{}, to: optimizer.Adagrad{LR: 0.1, Schedule: half, Epsilon: 0.1, InitialAccumulator: 1}},
	{from: optimizer.DecayedAdagrad{}, to: optimizer.DecayedAdagrad{LR: 0.1, Schedule: half, Decay: 0.5, Epsilon: 0.1}},
	{from: optimizer.Adadelta{}, to: optimizer.Adadelta{LR: 0.1, Schedule: half, Rho: 0.5, Epsilon: 0.1}},
	{from: optimizer.RMSProp{}, to: optimizer.RMSProp{LR: 0.1, Schedule: half, Rho: 0.5, Epsilon: 0.1, Momentum: 0.5, Centered: true}},
	{from: optimizer.Ftrl{}, to: optimizer.Ftrl{LR: 0.1, Schedule: half, L1: 0.1, L2: 0.1, Power: -0.7}},
	{from: optimizer.Lamb{}, to: optimizer.Lamb{LR: 0.1, Schedule: half, Beta1: 0.5, Beta2: 0.5, Epsilon: 0.1, WeightDecay: 0.1}},
	{from: optimizer.Lamb{WeightDecay: -1}, to: optimizer.Lamb{WeightDecay: -1, AlwaysAdapt: true}},
	{from: optimizer.Lars{}, to: optimizer.Lars{LR: 0.1, Schedule: half, Momentum: 0.5, Coeff: 0.1, WeightDecay: 0.1, Epsilon: 0.1}},
	{from: optimizer.DPSGD{Sigma: -1}, to: optimizer.DPSGD{Sigma: -1, LR: 0.1, Schedule: half, Clip: 0.1}},
	{from: optimizer.DPSGD{LR: 1, Sigma: 1, BatchSize: 1}, to: optimizer.DPSGD{LR: 1, Sigma: 4, BatchSize: 8}, effect: noise},
	{from: optimizer.SparseNaive{}, to: optimizer.SparseNaive{LR: 0.1, Schedule: half, Bounds: tight}},
	{from: optimizer.SparseAdagrad{}, to: optimizer.SparseAdagrad{LR: 0.1, Schedule: half, Initial: 1, Bounds: tight}},
	{from: optimizer.StdAdagrad{}, to: optimizer.StdAdagrad{LR: 0.1, Schedule: half, Initial: 1, Bounds: tight}},
	{from: optimizer.SparseAdam{}, to: optimizer.SparseAdam{LR: 0.1, Schedule: half, Beta1: 0.5, Beta2: 0.5, Epsilon: 0.1, Bounds: tight}},
	{from: optimizer.SparseSharedAdam{},
		to: optimizer.SparseSharedAdam{LR: 0.1, Schedule: half, Beta1: 0.5, Beta2: 0.5, Epsilon: 0.1, Bounds: tight}},
	{from: tight, to: optimizer.Bounds{Low: -0.2, High: 0.2}},

	{from: optimizer.Decay{Rule: plain}, to: optimizer.Decay{Rule: adam, L1: 0.1, L2: 0.1}},
	{from: optimizer.ClipByValue{Rule: plain, Max: 1}, to: optimizer.ClipByValue{Rule: adam, Min: -0.1, Max: 0.5}},
	{from: optimizer.ClipByNorm{Rule: plain, Norm: 1}, to: optimizer.ClipByNorm{Rule: adam, Norm: 0.5, Except: []string{"w"}}},
	{from: optimizer.ClipByGlobalNorm{Rule: plain, Norm: 1}, to: optimizer.ClipByGlobalNorm{Rule: adam, Norm: 0.5, Except: []string{"w"}}},
	{from: optimizer.ShowScale{Rule: plain}, to: optimizer.ShowScale{Rule: adam, Batch: 8}},
	{from: optimizer.PerParam{Rule: plain}, to: optimizer.PerParam{Rule: adam, By: map[string]optimizer.Rule{"w": adam}}},

	{from: lr.ExponentialDecay{LR: 1, Gamma: 0.5, Steps: 2}, to: lr.ExponentialDecay{LR: 2, Gamma: 0.9, Steps: 4, Staircase: true}},
	{from: lr.NaturalExpDecay{LR: 1, Gamma: 0.5, Steps: 2}, to: lr.NaturalExpDecay{LR: 2, Gamma: 0.9, Steps: 4, Staircase: true}},
	{from: lr.InverseTimeDecay{LR: 1, Gamma: 0.5, Steps: 2}, to: lr.InverseTimeDecay{LR: 2, Gamma: 0.9, Steps: 4, Staircase: true}},
	{from: lr.PolynomialDecay{LR: 1, Steps: 5}, to: lr.PolynomialDecay{LR: 2, Steps: 6, End: 0.1, Power: 2, Cycle: true}},
	{from: lr.NoamDecay{Model: 8, Warmup: 5}, to: lr.NoamDecay{LR: 2, Model: 16, Warmup: 3}},
	{from: lr.LinearWarmup{Steps: 5, End: 1}, to: lr.LinearWarmup{Steps: 4, Start: 0.1, End: 2, After: half}},
	{from: lr.LinearLR{LR: 1, Steps: 5}, to: lr.LinearLR{LR: 2, Steps: 4, Start: 0.5, End: -1}},
	{from: lr.PiecewiseDecay{Boundaries: []int64{3}, Values: []float64{1, 2}},
		to: lr.PiecewiseDecay{Boundaries: []int64{5}, Values: []float64{1, 3}}},
	{from: lr.StepDecay{LR: 1, Size: 3}, to: lr.StepDecay{LR: 2, Size: 4, Gamma: 0.5}},
	{from: lr.MultiStepDecay{LR: 1, Milestones: []int64{3}}, to: lr.MultiStepDecay{LR: 2, Milestones: []int64{5}, Gamma: 0.5}},
	{from: lr.LambdaDecay{Name: "f", LR: 1, Factor: math1}, to: lr.LambdaDecay{Name: "f", LR: 2, Factor: math2}},
	{from: lr.MultiplicativeDecay{Name: "f", LR: 1, Factor: math1}, to: lr.MultiplicativeDecay{Name: "f", LR: 2, Factor: math2}},
	{from: lr.Every{Steps: 2, Schedule: half}, to: lr.Every{Steps: 3, Schedule: lr.StepDecay{LR: 1, Size: 3}}},
	{from: lr.CosineAnnealingDecay{LR: 1, Steps: 5}, to: lr.CosineAnnealingDecay{LR: 2, Steps: 4, Min: 0.5}},
	{from: lr.CosineAnnealingWarmRestarts{LR: 1, Steps: 3}, to: lr.CosineAnnealingWarmRestarts{LR: 2, Steps: 4, Mult: 2, Min: 0.5}},
	{from: lr.OneCycleLR{Max: 1, Steps: 10},
		to: lr.OneCycleLR{Max: 2, Steps: 11, Divide: 5, End: 0.1, Rise: 0.4, Line: true, ThreePhase: true}},
	{from: lr.CyclicLR{Max: 1, Up: 2, Mode: lr.ExpRange},
		to: lr.CyclicLR{Base: 0.1, Max: 2, Up: 3, Down: 4, Mode: lr.Triangular2, Gamma: 0.5}},
	{from: lr.ReduceOnPlateau{LR: 1}, to: lr.ReduceOnPlateau{LR: 2, Max: true, Factor: 0.5, Patience: 2, Threshold: 0.5}},
	{from: lr.ReduceOnPlateau{LR: 1, Patience: 2, Threshold: 0.02},
		to: lr.ReduceOnPlateau{LR: 1, Patience: 2, Threshold: 0.02, Absolute: true, Cooldown: 4, Min: 0.05, Epsilon: 0.5}},

	{from: optimizer.Constant{}, to: optimizer.Constant{Value: 1}},
	{from: optimizer.Uniform{}, to: optimizer.Uniform{Low: -2, High: 2}},
	{from: optimizer.Normal{}, to: optimizer.Normal{Mean: 1, Std: 2}},
	{from: optimizer.TruncatedNormal{}, to: optimizer.TruncatedNormal{Mean: 1, Std: 2}},
	{from: optimizer.Entry{}, to: optimizer.Entry{CountFilter: 3, Probability: 0.5, ShowClick: once}},
	{from: once, to: optimizer.ShowClick{Threshold: 2, ShowCoeff: 0.2, ClickCoeff: 0.5}},
	{from: optimizer.Param{Init: optimizer.Uniform{}},
		to: optimizer.Param{Init: optimizer.Normal{}, Seed: 1, Entry: optimizer.Entry{CountFilter: 3}, Rows: oneRow{}, Frozen: true}},
}

// noOptions are the exported structs, and fields, that are for something else.
var noOptions = map[string]string{
	"State": "what an update knows", "Step": "a batch", "Rows": "rows of a batch",
	"Param.Name": "what the param is", "Param.Shape": "what the param is", "Param.Embedding": "what the param is",
	"Param.W": "values", "Param.G": "values", "Param.MaxBytes": "shown to act where there are many rows, in internal/table",
	"Param.Evict": "shown to act there too", "Evict": "shown to act there too",
	"CyclicMode": "values of CyclicLR.Mode", "PlateauState": "what a schedule remembers",
	"LambdaDecay.Name": "stands for Factor in print", "MultiplicativeDecay.Name": "stands for Factor in print",
}

// oneRow is a source of row 5.
type oneRow struct{}

func (oneRow) EachRow(do func([]uint64, []float32) error) error {
	return do([]uint64{5}, []float32{7, 8})
}
func (oneRow) String() string { return "one row" }

func math1(n int64) float64 { return 1 / float64(n+1) }
func math2(n int64) float64 { return 2 / float64(n+2) }

// TestEveryOptionActs: no exported field of what a user sets is without effect.
//
// Promise: [G10] every option of rules, clips, schedules, initializers and entries acts
// Also: TestZeroIsTheDefault
func TestEveryOptionActs(t *testing.T) {
	law.Slow(t)
	acts := map[string]bool{}
	for _, o := range options {
		effect := o.effect
		if effect == nil {
			effect = effectOf
		}
		from, to := reflect.ValueOf(o.from), reflect.ValueOf(o.to)
		before := effect(t, o.from)
		if again := effect(t, o.from); again != before {
			t.Errorf("%T%+v gives two results: %s, %s", o.from, o.from, before, again)
		}
		for i := range from.NumField() {
			f := from.Type().Field(i)
			if !f.IsExported() || reflect.DeepEqual(from.Field(i).Interface(), to.Field(i).Interface()) {
				continue
			}
			changed := reflect.New(from.Type()).Elem()
			changed.Set(from)
			changed.Field(i).Set(to.Field(i))
			if after := effect(t, changed.Interface()); after == before {
				t.Errorf("%T%+v: %s of %v does the same: %s", o.from, o.from, f.Name, to.Field(i), after)
			}
			acts[from.Type().Name()+"."+f.Name] = true
		}
	}
	for _, name := range exportedFields(t) {
		if of, _, _ := strings.Cut(name, "."); !acts[name] && noOptions[name] == "" && noOptions[of] == "" {
			t.Errorf("%s: no row of options shows that it acts", name)
		}
	}
}

// exportedFields are the fields, as Type.Field, of the structs that the package exports, from its source, and other types by name.
func exportedFields(t *testing.T) (names []string) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, isType := n.(*ast.TypeSpec)
			if isType {
				names = append(names, fieldsOf(spec)...)
			}
			return !isType
		})
	}
	return names
}

func fieldsOf(spec *ast.TypeSpec) (names []string) {
	body, isStruct := spec.Type.(*ast.StructType)
	_, isInterface := spec.Type.(*ast.InterfaceType)
	switch {
	case !spec.Name.IsExported() || isInterface:
		return nil
	case !isStruct:
		return []string{spec.Name.Name}
	}
	for _, f := range body.Fields.List {
		if len(f.Names) == 0 { // embedded, by the name of its type
			f.Names = []*ast.Ident{f.Type.(*ast.Ident)}
		}
		for _, n := range f.Names {
			if n.IsExported() {
				names = append(names, spec.Name.Name+"."+n.Name)
			}
		}
	}
	return names
}

// effectOf is what training makes of an option, or what a plateau says.
func effectOf(t testing.TB, v any) string {
	switch v := v.(type) {
	case optimizer.Rule:
		return trainedBy(t, v, optimizer.Param{Init: optimizer.Uniform{}})
	case lr.Schedule:
		return trainedBy(t, optimizer.SGD{Schedule: v}, optimizer.Param{Init: optimizer.Uniform{}})
	case optimizer.Bounds:
		return trainedBy(t, optimizer.SparseNaive{Bounds: v}, optimizer.Param{Init: optimizer.Uniform{}})
	case optimizer.Initializer:
		return trainedBy(t, plain, optimizer.Param{Init: v})
	case optimizer.ShowClick:
		return trainedBy(t, plain, optimizer.Param{Entry: optimizer.Entry{ShowClick: v}})
	case optimizer.Entry:
		return trainedBy(t, plain, optimizer.Param{Entry: v})
	case optimizer.Param:
		return trainedBy(t, plain, v)
	case lr.ReduceOnPlateau:
		return plateaued(v)
	}
	t.Fatalf("there is no effect of a %T", v)
	return ""
}

// trainedBy is what a process that is alone makes of two dense params and two embeddings in some steps: the first embedding is as e
// says, the second counts shows. Rows come and go, gradients grow and fall, and sometimes are nothing.
func trainedBy(t testing.TB, rule optimizer.Rule, e optimizer.Param) string {
	e.Name, e.Shape, e.Embedding = "e", []int{0, 2}, true
	shown := optimizer.Param{Name: "shown", Shape: []int{0, 2}, Embedding: true, Entry: optimizer.Entry{ShowClick: once}}
	m := &model{params: []*optimizer.Param{dense("w", 3, e.Init), dense("b", 2, nil), &e, &shown}}
	trainer, err := local.Minimize(m, rule)
	must(t, err)
	session, err := trainer.Open(m.params)
	must(t, err)
	for step := range 24 {
		must(t, m.step(session, step+1))
	}
	var seen [][]float32
	for _, p := range m.params[:2] {
		w, err := trainer.Dense(p.Name)
		must(t, err)
		seen = append(seen, w)
	}
	for _, p := range m.params[2:] {
		w, err := trainer.Rows(p.Name, []uint64{0, 1, 2, 3, 4, 5})
		must(t, err)
		seen = append(seen, w)
	}
	return fmt.Sprint(seen)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// model is an objective whose gradients are given.
type model struct{ params []*optimizer.Param }

func (m *model) Params() []*optimizer.Param { return m.params }
func (*model) Bind(optimizer.Trainer)       {}

func dense(name string, n int, init optimizer.Initializer) *optimizer.Param {
	return &optimizer.Param{Name: name, Shape: []int{n}, Init: init, W: make([]float32, n), G: make([]float32, n)}
}

func (m *model) step(session optimizer.Session, step int) error {
	s := &optimizer.Step{Samples: 8}
	for _, p := range m.params[2:] {
		ids := []uint64{uint64(step % 2), 2 + uint64(step%3), 5}
		s.Rows = append(s.Rows, optimizer.Rows{Param: p, IDs: ids, W: make([]float32, 6), G: slope(6, step),
			Show: []float32{2, 4, 1}, Click: []float32{0, 1, 1}})
	}
	if err := session.Begin(context.Background(), s); err != nil {
		return err
	}
	for _, p := range m.params[:2] {
		copy(p.G, slope(len(p.G), step))
	}
	return session.End(context.Background(), s)
}

// slope is a gradient of n elements.
func slope(n, step int) []float32 {
	g := make([]float32, n)
	for i := range g {
		if step%4 != 0 {
			g[i] = float32(math.Sin(float64(step + 2*i)))
		}
	}
	return g
}

// noise is the magnitude, in powers of two, of what a rule does to many weights that have no gradient.
func noise(_ testing.TB, v any) string {
	w := make([]float32, 4096)
	v.(optimizer.Rule).Update(w, make([]float32, len(w)), nil, &optimizer.State{Step: 1})
	var sum float64
	for _, x := range w {
		sum += float64(x) * float64(x)
	}
	return fmt.Sprint(int(math.Round(math.Log2(sum/float64(len(w))) / 2)))
}

// plateaued are the rates that follow a metric which falls, rises and stays.
func plateaued(p lr.ReduceOnPlateau) string {
	var rates []float64
	for i := range 60 {
		p.Step(5 + math.Sin(float64(i)/6) - float64(min(i, 30))/20)
		rates = append(rates, p.Rate())
	}
	return fmt.Sprint(rates)
}
