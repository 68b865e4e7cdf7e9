package optimizer_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/rules"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/optimizertest"
)

func TestSGD(t *testing.T) {
	optimizertest.Run(t, optimizer.SGD{LR: 0.1}, optimizertest.Exam{Twin: func(w, g, _ []float64, _ int64) {
		for i := range w {
			w[i] -= 0.1 * g[i]
		}
	}})
}

// adamTwin is the formula as the paper has it, with means corrected one by one.
func adamTwin(lr, b1, b2, eps float64, shift int64) func(w, g, state []float64, step int64) {
	return func(w, g, state []float64, step int64) {
		m, v := state[:len(w)], state[len(w):]
		t := float64(step + shift)
		for i := range w {
			m[i] = b1*m[i] + (1-b1)*g[i]
			v[i] = b2*v[i] + (1-b2)*g[i]*g[i]
			w[i] -= lr * (m[i] / (1 - math.Pow(b1, t))) / (math.Sqrt(v[i]/(1-math.Pow(b2, t))) + eps)
		}
	}
}

func TestAdam(t *testing.T) {
	tests := []struct {
		name  string
		rule  optimizer.Adam
		row   bool
		beta1 float64
		shift int64
	}{
		{"dense", optimizer.Adam{LR: 0.01}, false, 0.9, 0},
		{"lazy row", optimizer.Adam{LR: 0.01}, true, 0.9, 1},
		{"swept row", optimizer.Adam{LR: 0.01, Dense: true}, true, 0.9, 0},
		{"no momentum", optimizer.Adam{LR: 0.01, Beta1: -1}, false, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			twin := adamTwin(0.01, tt.beta1, 0.999, 1e-8, tt.shift)
			optimizertest.Run(t, tt.rule, optimizertest.Exam{Twin: twin, Row: tt.row})
		})
	}
}

func TestAdamDefaults(t *testing.T) {
	full := optimizer.Adam{LR: 0.001}
	a, b := []float32{1, 2}, []float32{1, 2}
	g := []float32{0.5, -3}
	optimizer.Adam{}.Update(a, g, make([]float32, 4), &optimizer.State{Step: 1})
	full.Update(b, g, make([]float32, 4), &optimizer.State{Step: 1})
	if a[0] != b[0] || a[1] != b[1] {
		t.Fatalf("the zero Adam gives %v, its defaults written out %v", a, b)
	}
}

// TestBiasIsCorrected: under a gradient that stays the same, means that began at zero are corrected to it, whatever they decay by, so
// that every update is as long as the rate.
func TestBiasIsCorrected(t *testing.T) {
	for _, rule := range []optimizer.Rule{
		optimizer.Adam{LR: 0.1, Beta1: 0.5, Beta2: 0.6}, optimizer.AdamW{LR: 0.1, Beta1: 0.5, Beta2: 0.6, WeightDecay: -1},
		optimizer.Adamax{LR: 0.1, Beta1: 0.5, Beta2: 0.6}, optimizer.Lamb{LR: 0.1, Beta1: 0.5, Beta2: 0.6, WeightDecay: -1},
		optimizer.SparseAdam{LR: 0.1, Beta1: 0.5, Beta2: 0.6}, optimizer.SparseSharedAdam{LR: 0.1, Beta1: 0.5, Beta2: 0.6},
	} {
		w, state := []float32{1, 2}, make([]float32, rule.StateLen(2))
		rules.InitState(rule, state)
		for step := int64(1); step <= 5; step++ {
			rule.Update(w, []float32{0.5, 0.5}, state, &optimizer.State{Step: step})
			if want := 1 - 0.1*float64(step); math.Abs(float64(w[0])-want) > 1e-5 || math.Abs(float64(w[1])-want-1) > 1e-5 {
				t.Errorf("%T: after %d updates %v, want %v and 1 more", rule, step, w, want)
			}
		}
	}
}

func TestAdagrad(t *testing.T) {
	for _, initial := range []float64{0, 0.1} {
		rule := optimizer.Adagrad{LR: 0.1, InitialAccumulator: initial}
		optimizertest.Run(t, rule, optimizertest.Exam{Row: true, Twin: func(w, g, a []float64, _ int64) {
			for i := range w {
				a[i] += g[i] * g[i]
				w[i] -= 0.1 * g[i] / (math.Sqrt(a[i]) + 1e-6)
			}
		}})
	}
}

func TestInitState(t *testing.T) {
	state := []float32{7, 7}
	rules.InitState(optimizer.Adagrad{InitialAccumulator: 0.5}, state)
	if state[0] != 0.5 || state[1] != 0.5 {
		t.Errorf("Adagrad's accumulators start at %v, want 0.5", state)
	}
	rules.InitState(optimizer.Adam{}, state)
	if state[0] != 0 || state[1] != 0 {
		t.Errorf("Adam's moments start at %v, want zeros", state)
	}
}

func BenchmarkUpdate(b *testing.B) {
	rules := []optimizer.Rule{optimizer.SGD{}, optimizer.Adam{}, optimizer.Adagrad{}}
	for _, rule := range rules {
		for _, n := range []int{16, 64} {
			b.Run(fmt.Sprintf("%s/%d", rule.Name(), n), func(b *testing.B) {
				w, g := make([]float32, n), make([]float32, n)
				for i := range g {
					g[i] = 0.01
				}
				state, s := make([]float32, rule.StateLen(n)), &optimizer.State{Step: 1}
				for b.Loop() {
					rule.Update(w, g, state, s)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/weight")
			})
		}
	}
}

func ExampleAdam() {
	rule := optimizer.Adam{LR: 0.1}
	w, g := []float32{1}, []float32{0.5}
	state := make([]float32, rule.StateLen(len(w)))
	rule.Update(w, g, state, &optimizer.State{Step: 1})
	fmt.Printf("%.4f\n", w[0])
	// Output: 0.9000
}

func refuses(t *testing.T, err error, says string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("error %v, want one that says %q", err, says)
	}
}
