package optimizer_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gofleet/gofleet/internal/rules"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/optimizertest"
)

func norm64(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	return math.Sqrt(sum)
}

func lambTwin(decay float64, adapts bool) twin {
	return func(w, g, state []float64, step int64) {
		m, v, r := state[:len(w)], state[len(w):], make([]float64, len(w))
		for i := range w {
			m[i] = 0.9*m[i] + 0.1*g[i]
			v[i] = 0.999*v[i] + 0.001*g[i]*g[i]
			mean, square := m[i]/(1-math.Pow(0.9, float64(step))), v[i]/(1-math.Pow(0.999, float64(step)))
			r[i] = mean/(math.Sqrt(square)+1e-6) + decay*w[i]
		}
		rate := 0.01
		if adapts {
			rate *= norm64(w) / norm64(r)
		}
		for i := range w {
			w[i] -= rate * r[i]
		}
	}
}

func larsTwin(w, g, v []float64, _ int64) {
	rate := 0.1
	if norm64(w) > 0 && norm64(g) > 0 {
		rate *= 0.001 * norm64(w) / (norm64(g) + 0.0005*norm64(w))
	}
	for i := range w {
		v[i] = 0.9*v[i] + rate*(g[i]+0.0005*w[i])
		w[i] -= v[i]
	}
}

func dpsgdTwin(w, g, _ []float64, _ int64) { // the noise of the default σ is below the tolerance
	scale := math.Max(1, norm64(g)/0.9)
	for i := range w {
		w[i] -= 0.1 * g[i] / scale
	}
}

func bound(x float64) float64 { return math.Min(math.Max(x, -1.5), 1.5) }

func sparseAdagradTwin(w, g, state []float64, _ int64) {
	rate, sum := 0.5*math.Sqrt(3/(3+state[0])), 0.0
	for i := range w {
		w[i] = bound(w[i] - rate*g[i])
		sum += g[i] * g[i]
	}
	state[0] += sum / float64(len(w))
}

var stdAdagradTwin = each(func(w *float64, g float64, a []*float64, _ int64) {
	*w = bound(*w - 0.5*g*math.Sqrt(3/(3+*a[0])))
	*a[0] += g * g
})

func sparseAdamTwin(w, g, state []float64, _ int64) {
	n := len(w)
	m, v, p := state[:n], state[n:2*n], state[2*n:]
	for i := range w {
		m[i] = 0.9*m[i] + 0.1*g[i]
		v[i] = 0.999*v[i] + 0.001*g[i]*g[i]
		w[i] = bound(w[i] - 0.1*math.Sqrt(1-p[1])/(1-p[0])*m[i]/(math.Sqrt(v[i])+1e-8))
	}
	p[0], p[1] = p[0]*0.9, p[1]*0.999
}

func sharedAdamTwin(w, g, state []float64, _ int64) {
	rate, m, v, n := 0.1*math.Sqrt(1-state[3])/(1-state[2]), 0.0, 0.0, float64(len(w))
	for i := range w {
		mi, vi := 0.9*state[0]+0.1*g[i], 0.999*state[1]+0.001*g[i]*g[i]
		w[i] = bound(w[i] - rate*mi/(math.Sqrt(vi)+1e-8))
		m, v = m+mi/n, v+vi/n
	}
	state[0], state[1], state[2], state[3] = m, v, state[2]*0.9, state[3]*0.999
}

func TestWholeAndSparseFormulas(t *testing.T) {
	adapting := optimizer.Lamb{LR: 0.01, WeightDecay: -1}
	adapting.AlwaysAdapt = true
	bounds := optimizer.Bounds{Low: -1.5, High: 1.5}
	naive := each(func(w *float64, g float64, _ []*float64, _ int64) { *w = bound(*w - 0.5*g) })
	tests := []struct {
		rule optimizer.Rule
		exam optimizertest.Exam
	}{
		{optimizer.Lamb{LR: 0.01}, optimizertest.Exam{Twin: lambTwin(0.01, true), Whole: true, MovesOnZero: true}},
		{optimizer.Lamb{LR: 0.01, WeightDecay: -1}, optimizertest.Exam{Twin: lambTwin(0, false), Whole: true}},
		{adapting, optimizertest.Exam{Twin: lambTwin(0, true), Whole: true}},
		{optimizer.Lars{LR: 0.1}, optimizertest.Exam{Twin: larsTwin, Whole: true, MovesOnZero: true}},
		{optimizer.DPSGD{LR: 0.1}, optimizertest.Exam{Twin: dpsgdTwin, Whole: true, MovesOnZero: true, Noise: true}},
		{optimizer.SparseNaive{LR: 0.5, Bounds: bounds}, optimizertest.Exam{Twin: naive, Bounded: true}},
		{optimizer.SparseAdagrad{LR: 0.5, Bounds: bounds}, optimizertest.Exam{Twin: sparseAdagradTwin, Whole: true, Bounded: true}},
		{optimizer.StdAdagrad{LR: 0.5, Bounds: bounds}, optimizertest.Exam{Twin: stdAdagradTwin, Bounded: true}},
		// The powers of β are kept in float32: 1−β₂ᵏ has few of their digits.
		{optimizer.SparseAdam{LR: 0.1, Bounds: bounds}, optimizertest.Exam{Twin: sparseAdamTwin, Whole: true, Bounded: true, Tolerance: 1e-4}},
		{optimizer.SparseSharedAdam{LR: 0.1, Bounds: bounds}, optimizertest.Exam{Twin: sharedAdamTwin, Whole: true, Bounded: true, Tolerance: 1e-4}},
	}
	for _, tt := range tests {
		tt.exam.Row = true
		t.Run(fmt.Sprintf("%T%+v", tt.rule, tt.rule), func(t *testing.T) { optimizertest.Run(t, tt.rule, tt.exam) })
		if rules.NeedsWhole(tt.rule) != tt.exam.Whole {
			t.Errorf("%T: NeedsWhole is %t", tt.rule, !tt.exam.Whole)
		}
	}
}

// The noise is as strong as it says, and not the same twice.
func TestDPSGDNoise(t *testing.T) {
	const n = 20_000
	rule := optimizer.DPSGD{LR: 0.5, Sigma: 3, BatchSize: 2}
	a, b := make([]float32, n), make([]float32, n)
	rule.Update(a, make([]float32, n), nil, &optimizer.State{Step: 1})
	rule.Update(b, make([]float32, n), nil, &optimizer.State{Step: 1})
	var sum, square float64
	for i := range a {
		sum += float64(a[i])
		square += float64(a[i]) * float64(a[i])
	}
	if mean, std := sum/n, math.Sqrt(square/n); math.Abs(mean) > 0.03 || math.Abs(std-0.75) > 0.03 {
		t.Errorf("mean %v and deviation %v, want 0 and 0.75", mean, std)
	}
	if a[0] == b[0] && a[1] == b[1] {
		t.Error("two updates had the same noise")
	}
}

// A variable of zeros, or a gradient of zeros, has no direction to measure.
func TestNormsOfZero(t *testing.T) {
	for _, rule := range []optimizer.Rule{optimizer.Lars{LR: 0.5, WeightDecay: 1}, optimizer.Lamb{LR: 0.5, WeightDecay: 1}} {
		w, g := make([]float32, 3), []float32{1, 2, 3}
		state := make([]float32, rule.StateLen(3))
		rule.Update(w, g, state, &optimizer.State{Step: 1})
		for i := range w {
			if !(w[i] < 0) {
				t.Errorf("%T: weights of zero became %v", rule, w)
			}
		}
		w = []float32{1, 1, 1}
		clear(state)
		rule.Update(w, make([]float32, 3), state, &optimizer.State{Step: 1})
		if math.Abs(float64(w[0])-0.5) > 1e-6 {
			t.Errorf("%T: a gradient of zeros left %v, want decay alone: 0.5", rule, w[0])
		}
	}
}

func TestBounds(t *testing.T) {
	w := []float32{9.9, -9.9, 1}
	optimizer.SparseNaive{LR: 1}.Update(w, []float32{-5, 5, 0.5}, nil, &optimizer.State{Step: 1})
	if w[0] != 10 || w[1] != -10 || w[2] != 0.5 {
		t.Errorf("%v, want 10, -10 and 0.5", w)
	}
	none := optimizer.Bounds{Low: 1, High: -1}
	for _, rule := range []optimizer.Rule{optimizer.SparseNaive{Bounds: none}, optimizer.SparseAdagrad{Bounds: none}, optimizer.StdAdagrad{Bounds: none},
		optimizer.SparseAdam{Bounds: none}, optimizer.SparseSharedAdam{Bounds: none}} {
		refuses(t, optimizer.CheckRule(rule), "Bounds are [1, -1]")
	}
	refuses(t, optimizer.CheckRule(optimizer.SparseAdam{Beta2: 3}), "sparse_adam: Beta2 is 3")
	refuses(t, optimizer.CheckRule(optimizer.SparseAdagrad{Initial: -3}), "Initial is -3")
	refuses(t, optimizer.CheckRule(optimizer.StdAdagrad{LR: -3}), "std_adagrad: LR")
	refuses(t, optimizer.CheckRule(optimizer.Lamb{Epsilon: -3}), "lamb: Epsilon")
	refuses(t, optimizer.CheckRule(optimizer.Lars{Coeff: -3}), "lars_momentum: Coeff")
	refuses(t, optimizer.CheckRule(optimizer.DPSGD{Clip: -3}), "dpsgd: Clip")
}

// A rule with a counter in each row corrects by the row's own updates, whatever the step is.
func TestSparseAdamCountsForItself(t *testing.T) {
	rule, r := optimizer.SparseAdam{LR: 0.1}, rand.New(rand.NewPCG(1, 1))
	a, b := []float32{1, 2}, []float32{1, 2}
	sa, sb := make([]float32, 6), make([]float32, 6)
	rule.InitState(sa)
	rule.InitState(sb)
	for k := range int64(5) {
		g := []float32{r.Float32(), r.Float32()}
		rule.Update(a, g, sa, &optimizer.State{Step: k + 1, Row: true})
		rule.Update(b, g, sb, &optimizer.State{Step: 1000 * (k + 1), Row: true})
	}
	if a[0] != b[0] || a[1] != b[1] {
		t.Errorf("steps 1 to 5 give %v, steps 1000 to 5000 %v", a, b)
	}
}
