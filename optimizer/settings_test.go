package optimizer_test

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/lr"
)

// defaults has values with fields left at 0 and the same written out.
var defaults = []struct{ zero, written any }{
	{optimizer.SGD{}, optimizer.SGD{LR: 0.001}},
	{optimizer.Momentum{}, optimizer.Momentum{LR: 0.001, Momentum: 0.9}},
	{optimizer.Adam{}, optimizer.Adam{LR: 0.001, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8}},
	{optimizer.AdamW{}, optimizer.AdamW{LR: 0.001, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, WeightDecay: 0.01}},
	{optimizer.Adamax{}, optimizer.Adamax{LR: 0.001, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8}},
	{optimizer.Adagrad{}, optimizer.Adagrad{LR: 0.001, Epsilon: 1e-6}},
	{optimizer.DecayedAdagrad{}, optimizer.DecayedAdagrad{LR: 0.001, Decay: 0.95, Epsilon: 1e-6}},
	{optimizer.Adadelta{}, optimizer.Adadelta{LR: 1, Rho: 0.95, Epsilon: 1e-6}},
	{optimizer.RMSProp{}, optimizer.RMSProp{LR: 0.001, Rho: 0.95, Epsilon: 1e-6}},
	{optimizer.Ftrl{}, optimizer.Ftrl{LR: 0.001, Power: -0.5}},
	{optimizer.Lamb{}, optimizer.Lamb{LR: 0.001, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-6, WeightDecay: 0.01}},
	{optimizer.Lars{}, optimizer.Lars{LR: 0.001, Momentum: 0.9, Coeff: 0.001, WeightDecay: 0.0005}},
	{optimizer.DPSGD{Sigma: -1}, optimizer.DPSGD{Sigma: -1, LR: 0.001, Clip: 0.9, BatchSize: 0.999}},
	{optimizer.SparseNaive{}, optimizer.SparseNaive{LR: 0.05}},
	{optimizer.SparseNaive{LR: 30}, optimizer.SparseNaive{LR: 30, Bounds: optimizer.Bounds{Low: -10, High: 10}}},
	{optimizer.SparseAdagrad{}, optimizer.SparseAdagrad{LR: 0.05, Initial: 3}},
	{optimizer.StdAdagrad{}, optimizer.StdAdagrad{LR: 0.05, Initial: 3}},
	{optimizer.SparseAdam{}, optimizer.SparseAdam{LR: 0.001, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8}},
	{optimizer.SparseSharedAdam{}, optimizer.SparseSharedAdam{LR: 0.001, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8}},
	{optimizer.ClipByValue{Rule: plain, Max: 0.5}, optimizer.ClipByValue{Rule: plain, Min: -0.5, Max: 0.5}},
	{optimizer.ShowScale{Rule: plain}, optimizer.ShowScale{Rule: plain, Batch: 1}},
	{lr.ExponentialDecay{LR: 1, Gamma: 0.5}, lr.ExponentialDecay{LR: 1, Gamma: 0.5, Steps: 1}},
	{lr.NaturalExpDecay{LR: 1, Gamma: 0.5}, lr.NaturalExpDecay{LR: 1, Gamma: 0.5, Steps: 1}},
	{lr.InverseTimeDecay{LR: 1, Gamma: 0.5}, lr.InverseTimeDecay{LR: 1, Gamma: 0.5, Steps: 1}},
	{lr.PolynomialDecay{LR: 1, Steps: 9}, lr.PolynomialDecay{LR: 1, Steps: 9, End: 0.0001, Power: 1}},
	{lr.NoamDecay{Model: 8, Warmup: 5}, lr.NoamDecay{LR: 1, Model: 8, Warmup: 5}},
	{lr.LinearLR{LR: 1, Steps: 9}, lr.LinearLR{LR: 1, Steps: 9, Start: 1.0 / 3, End: 1}},
	{lr.StepDecay{LR: 1, Size: 3}, lr.StepDecay{LR: 1, Size: 3, Gamma: 0.1}},
	{lr.MultiStepDecay{LR: 1, Milestones: []int64{3}}, lr.MultiStepDecay{LR: 1, Milestones: []int64{3}, Gamma: 0.1}},
	{lr.CosineAnnealingWarmRestarts{LR: 1, Steps: 3}, lr.CosineAnnealingWarmRestarts{LR: 1, Steps: 3, Mult: 1}},
	{lr.OneCycleLR{Max: 1, Steps: 9}, lr.OneCycleLR{Max: 1, Steps: 9, Divide: 25, End: 0.0001, Rise: 0.3}},
	{lr.CyclicLR{Max: 1, Up: 3}, lr.CyclicLR{Max: 1, Up: 3, Down: 3, Mode: lr.Triangular}},
	{lr.CyclicLR{Max: 1, Up: 3, Mode: lr.ExpRange}, lr.CyclicLR{Max: 1, Up: 3, Mode: lr.ExpRange, Gamma: 1}},
	{optimizer.Uniform{}, optimizer.Uniform{Low: -1, High: 1}},
	{optimizer.Normal{}, optimizer.Normal{Std: 1}},
	{optimizer.TruncatedNormal{}, optimizer.TruncatedNormal{Std: 1}},
	{optimizer.Entry{}, optimizer.Entry{CountFilter: 1}},
	{optimizer.ShowClick{Threshold: 3}, optimizer.ShowClick{Threshold: 3, ShowCoeff: 0.1, ClickCoeff: 1}},
}

// TestZeroIsTheDefault: a field left at 0 is the documented number, and no other.
func TestZeroIsTheDefault(t *testing.T) {
	for _, tt := range defaults {
		if zero, written := effectOf(t, tt.zero), effectOf(t, tt.written); zero != written {
			t.Errorf("%T%+v gives %s, %+v %s", tt.zero, tt.zero, zero, tt.written, written)
		}
	}
	for _, d := range []optimizer.DPSGD{{LR: 1, Sigma: 1e-8}, {LR: 1, BatchSize: 0.999}} { // the noise of the default σ
		if zero, written := noise(t, optimizer.DPSGD{LR: 1}), noise(t, d); zero != written {
			t.Errorf("noise of 2^%s, 2^%s with %+v", zero, written, d)
		}
	}
}

// fine are the settings that look wrong and are right.
var fine = map[string]bool{
	"ClipByValue.Min -2": true, "ClipByValue.Max +Inf": true, "ClipByNorm.Norm +Inf": true, "ClipByGlobalNorm.Norm +Inf": true,
	"Ftrl.Power -2": true, "Ftrl.Power +Inf": false, "Bounds.Low -2": true, "Bounds.High +Inf": true,
}

// TestWrongNumbersAreRefused sets every number of every option to what is none, negative or infinite: a check must name it.
func TestWrongNumbersAreRefused(t *testing.T) {
	for _, o := range options {
		from := reflect.ValueOf(o.from)
		if checkOf(t, o.from) == errSkipped {
			continue
		}
		for i := range from.NumField() {
			for _, bad := range []float64{math.NaN(), -2, math.Inf(1)} {
				v := reflect.New(from.Type()).Elem()
				v.Set(from)
				if !setNumber(v.Field(i), bad) {
					continue
				}
				name := from.Type().Field(i).Name
				if err := checkOf(t, v.Interface()); (err != nil) == fine[fmt.Sprintf("%s.%s %v", from.Type().Name(), name, bad)] {
					t.Errorf("%T with %s %v: error %v", o.from, name, bad, err)
				}
			}
		}
	}
}

// TestRatesThatNoFloatHas: a rate that is 0 or infinite as a float32 would train nothing, or weights that are not finite, without a word.
func TestRatesThatNoFloatHas(t *testing.T) {
	for _, rate := range []float64{1e-300, 1e-46, 1e39} {
		for _, r := range []optimizer.Rule{optimizer.SGD{LR: rate}, optimizer.Adam{LR: rate}, optimizer.Ftrl{LR: rate}} {
			if err := optimizer.CheckRule(r); err == nil || !strings.Contains(err.Error(), "LR is") {
				t.Errorf("%+v: error %v", r, err)
			}
		}
	}
	if err := optimizer.CheckRule(optimizer.SGD{LR: 1e-44}); err != nil {
		t.Error(err)
	}
}

// setNumber says whether a field can be set to a number.
func setNumber(f reflect.Value, x float64) bool {
	switch {
	case f.CanFloat() && f.CanSet():
		f.SetFloat(x)
	case f.CanInt() && f.CanSet() && x == -1:
		f.SetInt(-1)
	default:
		return false
	}
	return true
}

// errSkipped stands for what trainers don't check: a plateau, and initializers, whose numbers may be any.
var errSkipped = fmt.Errorf("no check")

// checkOf is what a trainer says of an option.
func checkOf(t *testing.T, v any) error {
	switch v := v.(type) {
	case optimizer.Rule:
		return optimizer.CheckRule(v)
	case lr.Schedule:
		return optimizer.CheckRule(optimizer.SGD{Schedule: v})
	case optimizer.Bounds:
		return optimizer.CheckRule(optimizer.SparseNaive{Bounds: v})
	case optimizer.Entry:
		return v.Check()
	case optimizer.ShowClick:
		return optimizer.Entry{ShowClick: v}.Check()
	}
	return errSkipped
}

func TestParamCheck(t *testing.T) {
	w := make([]float32, 2)
	for says, p := range map[string]optimizer.Param{
		"has no name":                                  {Shape: []int{2}, W: w, G: w},
		"has no shape":                                 {Name: "w", W: w, G: w},
		"dimension 0 of shape [-2] is not":             {Name: "w", Shape: []int{-2}, W: w, G: w},
		"dimension 1 of shape [2 0] is not":            {Name: "w", Shape: []int{2, 0}},
		"dimension 0 of shape [0] is not":              {Name: "w", Shape: []int{0}},
		"dimension 1 of shape [0 0] is not":            {Name: "e", Shape: []int{0, 0}, Embedding: true},
		"needs shape [height dim], has [3]":            {Name: "e", Shape: []int{3}, Embedding: true},
		"of shape [3] needs 3 weights, has 2":          {Name: "w", Shape: []int{3}, W: w, G: w},
		"of shape [2] needs room for 2 gradients, has": {Name: "w", Shape: []int{2}, W: w, G: w[:1]},
	} {
		refuses(t, p.Check(), says)
	}
	for _, p := range []optimizer.Param{{Name: "w", Shape: []int{2}, W: w, G: w}, {Name: "f", Shape: []int{2}, W: w, Frozen: true},
		{Name: "e", Shape: []int{0, 2}, Embedding: true}} {
		if err := p.Check(); err != nil {
			t.Error(err)
		}
	}
}
