package optimizer_test

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/gofleet/gofleet/internal/rules"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/lr"
)

// allRules are the rules with settings in which every term of their formulas counts.
func allRules() []optimizer.Rule {
	rules := []optimizer.Rule{
		optimizer.SGD{LR: 0.1}, optimizer.Momentum{LR: 0.1}, optimizer.Momentum{LR: 0.1, Nesterov: true}, optimizer.Adam{}, optimizer.Adam{LR: 0.1, Beta1: -1, Beta2: -1},
		optimizer.AdamW{}, optimizer.Adamax{}, optimizer.Adagrad{}, optimizer.Adagrad{InitialAccumulator: 0.1}, optimizer.DecayedAdagrad{}, optimizer.Adadelta{},
		optimizer.RMSProp{}, optimizer.RMSProp{Momentum: 0.9, Centered: true}, optimizer.Ftrl{}, optimizer.Ftrl{L1: 0.1, L2: 0.2, Power: -0.7}, optimizer.Lamb{},
		optimizer.Lamb{LR: 0.1, WeightDecay: -1}, optimizer.Lars{}, optimizer.DPSGD{}, optimizer.SparseNaive{}, optimizer.SparseAdagrad{}, optimizer.StdAdagrad{}, optimizer.SparseAdam{},
		optimizer.SparseSharedAdam{},
	}
	sgd := optimizer.SGD{LR: 0.1}
	return append(rules, optimizer.Decay{Rule: sgd, L1: 0.1, L2: 0.1}, optimizer.ClipByValue{Rule: sgd, Max: 1}, optimizer.ClipByNorm{Rule: sgd, Norm: 1},
		optimizer.SGD{Schedule: lr.NoamDecay{Model: 8, Warmup: 3}})
}

// extreme draws numbers at the ends of float32's range, and beyond.
func extreme(t *rapid.T, name string) float32 {
	inf := float32(math.Inf(1))
	return rapid.OneOf(rapid.SampledFrom([]float32{0, float32(math.Copysign(0, -1)), 1, -1, math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32, 0x1p-126,
		1e-20, 1e20, math.MaxFloat32, -math.MaxFloat32, inf, -inf, float32(math.NaN())}), rapid.Float32Range(-3, 3)).Draw(t, name)
}

// TestExtremes: whatever weights and gradients are, at whatever step, an update stays inside its slices, does the same to an
// element as to a slice of that element alone, and a NaN goes on being one.
func TestExtremes(t *testing.T) {
	for _, rule := range allRules() {
		t.Run(fmt.Sprintf("%T%+v", rule, rule), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { checkExtreme(t, rule) })
		})
	}
}

func checkExtreme(t *rapid.T, rule optimizer.Rule) {
	n := rapid.IntRange(0, 5).Draw(t, "n")
	memory := make([]float32, n+2+rule.StateLen(n)+2)
	w, state := memory[1:n+1], memory[n+3:len(memory)-1]
	guards := []*float32{&memory[0], &memory[n+1], &memory[n+2], &memory[len(memory)-1]}
	for i := range w {
		w[i] = extreme(t, "w")
	}
	rules.InitState(rule, state)
	alone, states := append([]float32(nil), w...), make([][]float32, n)
	for i := range states {
		states[i] = make([]float32, rule.StateLen(1))
		rules.InitState(rule, states[i])
	}
	for range rapid.IntRange(1, 3).Draw(t, "steps") {
		step := rapid.SampledFrom([]int64{0, 1, 2, 3, 1000, math.MaxInt64}).Draw(t, "step")
		g := make([]float32, n)
		for i := range g {
			g[i] = extreme(t, "g")
		}
		rule.Update(w, g, state, &optimizer.State{Step: step})
		for i := range states {
			rule.Update(alone[i:i+1], g[i:i+1], states[i], &optimizer.State{Step: step})
			if (isNaN(g[i]) || isNaN(alone[i])) && !isNaN(w[i]) && !rules.NeedsWhole(rule) {
				t.Fatalf("w[%d] is %v after a gradient of %v, %v alone", i, w[i], g[i], alone[i])
			}
		}
	}
	for _, p := range guards {
		if *p != 0 {
			t.Fatal("the update wrote beyond its slices")
		}
	}
	for i := range alone {
		if !rules.NeedsWhole(rule) && math.Float32bits(w[i]) != math.Float32bits(alone[i]) && !(isNaN(w[i]) && isNaN(alone[i])) {
			t.Fatalf("w[%d] is %v, alone %v", i, w[i], alone[i])
		}
	}
}

func isNaN(x float32) bool { return x != x }

// TestEqualGradients: a gradient that is always the same, of which the variance is 0, leaves every weight finite.
func TestEqualGradients(t *testing.T) {
	for _, rule := range allRules() {
		for g := float32(1); g < 5e4; g *= 1.1 {
			w, state := []float32{0.5}, make([]float32, rule.StateLen(1))
			rules.InitState(rule, state)
			for step := range int64(300) {
				rule.Update(w, []float32{g}, state, &optimizer.State{Step: step + 1})
			}
			if w[0]-w[0] != 0 {
				t.Errorf("%T%+v: the weight is %v after gradients of %v", rule, rule, w[0], g)
			}
		}
	}
}

// TestFirstStep: a state whose step was never set counts as the first, and finite numbers stay finite at any step.
func TestFirstStep(t *testing.T) {
	for _, rule := range allRules() {
		if _, noisy := rule.(optimizer.DPSGD); noisy {
			continue
		}
		var got [4][]float32
		for i, step := range []int64{0, 1, 1000, math.MaxInt64} {
			got[i] = []float32{0.5, -2, 0}
			state := make([]float32, rule.StateLen(3))
			rules.InitState(rule, state)
			rule.Update(got[i], []float32{1, 0, -3}, state, &optimizer.State{Step: step})
			for k, v := range got[i] {
				if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
					t.Errorf("%T%+v, step %d: w[%d] is %v", rule, rule, step, k, v)
				}
			}
		}
		for k := range got[0] {
			if got[0][k] != got[1][k] {
				t.Errorf("%T%+v: w[%d] is %v at step 0 and %v at step 1", rule, rule, k, got[0][k], got[1][k])
			}
		}
	}
}
