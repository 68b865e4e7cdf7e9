package optimizertest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/internal/rules"
	"github.com/gofleet/gofleet/optimizer"
)

// Exam describes the peculiarities of a rule. The zero value tests what every rule must do.
type Exam struct {
	// Twin is the formula in float64: it changes w and state (StateLen(len(w)) numbers laid out as the rule's own) for
	// the step that is given. nil leaves the comparison out.
	Twin func(w, g, state []float64, step int64)
	// Row examines the rule as the rule of an embedding's rows: State.Row is set.
	Row bool
	// Whole says that the rule looks at a slice as a whole (a norm, a number shared by a row), so that cutting the
	// slice changes the result.
	Whole bool
	// MovesOnZero says that a first gradient of zero changes the weights (weight decay, noise).
	MovesOnZero bool
	// Bounded says that weights are kept within bounds, where a first gradient of zero may already move them.
	Bounded bool
	// Noise says that two updates of the same numbers may differ.
	Noise bool
	// Tolerance is the largest difference to the twin, relative to the weight (and absolute below 1); 0 means 1e-5.
	Tolerance float64
}

const (
	steps = 12
	size  = 37 // odd, so that unrolled loops have a tail
)

// Run tests the rule, with a subtest for each property.
func Run(t *testing.T, rule optimizer.Rule, e Exam) {
	t.Helper()
	t.Run("twin", func(t *testing.T) { e.twin(t, rule) })
	t.Run("extremes", func(t *testing.T) { e.extremes(t, rule) })
	t.Run("slices", func(t *testing.T) { e.slices(t, rule) })
	t.Run("memo", func(t *testing.T) { e.memo(t, rule) })
	t.Run("zero gradient", func(t *testing.T) { e.zeroGradient(t, rule) })
	t.Run("touches only its slices", func(t *testing.T) { e.bounds(t, rule) })
	t.Run("allocates nothing", func(t *testing.T) { e.allocations(t, rule) })
	t.Run("a NaN shows", func(t *testing.T) { e.nan(t, rule) })
	t.Run("uses its state", func(t *testing.T) { e.usesState(t, rule) })
	t.Run("goroutines", func(t *testing.T) { e.goroutines(t, rule) })
	t.Run("prints", func(t *testing.T) { e.prints(t, rule) })
	t.Run("initial state", func(t *testing.T) { e.initState(t, rule) })
	if _, ok := rule.(optimizer.Rated); ok {
		t.Run("rate", func(t *testing.T) { e.rate(t, rule) })
	}
	if r, ok := rule.(rester); ok {
		t.Run("rests", func(t *testing.T) { e.rests(t, rule, r) })
	}
}

// slice is a variable that is trained.
type slice struct{ w, state []float32 }

func newSlice(rule optimizer.Rule, w []float32) slice {
	s := slice{append([]float32(nil), w...), make([]float32, rule.StateLen(len(w)))}
	rules.InitState(rule, s.state)
	return s
}

func random(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

func (e Exam) state(step int64) *optimizer.State { return &optimizer.State{Step: step, Row: e.Row} }

func (e Exam) twin(t *testing.T, rule optimizer.Rule) {
	if e.Twin == nil {
		t.Skip("the exam has no twin")
	}
	r := rand.New(rand.NewPCG(1, 1))
	s := newSlice(rule, random(r, size))
	w, state := widen(s.w), widen(s.state)
	for step := int64(1); step <= steps; step++ {
		g := random(r, size)
		rule.Update(s.w, g, s.state, e.state(step))
		e.Twin(w, widen(g), state, step)
		e.compare(t, "w", step, s.w, w)
		e.compare(t, "state", step, s.state, state)
	}
}

// extremes makes three steps with gradients at the ends of float32's range. Where the twin's numbers are float32s, the
// rule must have them, and otherwise be finite up to the largest gradient that a job passes on.
func (e Exam) extremes(t *testing.T, rule optimizer.Rule) {
	for _, x := range []float32{0, math.SmallestNonzeroFloat32, 1e-40, 1e-23, 1e19, math.MaxFloat32} {
		for _, first := range []float32{0.5, 2} {
			s, g := newSlice(rule, []float32{first, -first}), []float32{x, -x}
			w, state, fits := widen(s.w), widen(s.state), true
			for step := int64(1); step <= 3; step++ {
				rule.Update(s.w, g, s.state, e.state(step))
				if e.Twin != nil {
					e.Twin(w, widen(g), state, step)
				}
				for _, v := range slices.Concat(w, state) {
					as := math.Abs(float64(float32(v)))
					fits = fits && as <= math.MaxFloat32 && (as > 0) == (v != 0)
				}
				passed := x <= rules.Largest(rule)
				if !passed && fits && step == 3 && e.Twin != nil {
					t.Errorf("a gradient of %v is refused, and all numbers fit", x)
				}
				for _, v := range slices.Concat(s.w, s.state) {
					if passed && v-v != 0 {
						t.Errorf("step %d with gradients of %v: w is %v, state %v", step, x, s.w, s.state)
						break
					}
				}
				if fits && passed && e.Twin != nil {
					e.compare(t, fmt.Sprintf("with gradients of %v, w", x), step, s.w, w)
				}
			}
		}
	}
}

func (e Exam) compare(t *testing.T, what string, step int64, got []float32, want []float64) {
	t.Helper()
	limit := e.Tolerance
	if limit == 0 {
		limit = 1e-5
	}
	for i := range got {
		if d := math.Abs(float64(got[i]) - want[i]); !(d <= limit*max(1, math.Abs(want[i]))) {
			t.Fatalf("step %d: %s[%d] = %v, the twin has %v", step, what, i, got[i], want[i])
		}
	}
}

func widen(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// memo runs steps with the same State and with a fresh one each time.
func (e Exam) memo(t *testing.T, rule optimizer.Rule) {
	if e.Noise {
		t.Skip("the rule is not to be repeated")
	}
	r := rand.New(rand.NewPCG(3, 3))
	w := random(r, size)
	kept, fresh := newSlice(rule, w), newSlice(rule, w)
	s := e.state(0)
	for _, step := range []int64{1, 2, 2, 3, 7, 5, 1 << 40} {
		g := random(r, size)
		s.Step = step
		rule.Update(kept.w, g, kept.state, s)
		rule.Update(fresh.w, g, fresh.state, e.state(step))
	}
	equal(t, "w", kept.w, fresh.w)
	equal(t, "state", kept.state, fresh.state)
}

// rate changes the factor on the rate between updates, also of one step, with the same State and with a fresh one each
// time.
func (e Exam) rate(t *testing.T, rule optimizer.Rule) {
	if e.Noise {
		t.Skip("the rule is not to be repeated")
	}
	r := rand.New(rand.NewPCG(9, 9))
	w := random(r, size)
	kept, fresh, plain := newSlice(rule, w), newSlice(rule, w), newSlice(rule, w)
	s := e.state(1)
	for _, factor := range []float64{1, 0.5, 0.25, 0.25, 2} {
		g, one := random(r, size), e.state(1)
		s.SetRateFactor(factor)
		one.SetRateFactor(factor)
		rule.Update(kept.w, g, kept.state, s)
		rule.Update(fresh.w, g, fresh.state, one)
		rule.Update(plain.w, g, plain.state, e.state(1))
	}
	equal(t, "w", kept.w, fresh.w)
	equal(t, "state", kept.state, fresh.state)
	if slices.Equal(kept.w, plain.w) {
		t.Fatal("the rule has a method LearningRate, and a factor on its rate changes nothing: Update takes its rate " +
			"from State.Rate")
	}
}

func (e Exam) zeroGradient(t *testing.T, rule optimizer.Rule) {
	if e.MovesOnZero || e.Bounded {
		t.Skip("the rule moves weights without a gradient")
	}
	w := random(rand.New(rand.NewPCG(4, 4)), size)
	s := newSlice(rule, w)
	rule.Update(s.w, make([]float32, size), s.state, e.state(1))
	equal(t, "w", w, s.w)
}

// bounds surrounds w and state with guards and checks that these and g are unchanged.
func (e Exam) bounds(t *testing.T, rule optimizer.Rule) {
	r := rand.New(rand.NewPCG(5, 5))
	for _, n := range []int{0, 1, 7, 8, size} {
		w, state := random(r, n+2), random(r, rule.StateLen(n)+2)
		g := random(r, n)
		before := append([]float32(nil), g...)
		rules.InitState(rule, state[1:len(state)-1])
		ends := []float32{w[0], w[n+1], state[0], state[len(state)-1]}
		rule.Update(w[1:n+1], g, state[1:len(state)-1], e.state(1))
		equal(t, "g", before, g)
		equal(t, "guard", ends, []float32{w[0], w[n+1], state[0], state[len(state)-1]})
	}
}

func (e Exam) allocations(t *testing.T, rule optimizer.Rule) {
	r := rand.New(rand.NewPCG(6, 6))
	s, g := newSlice(rule, random(r, size)), random(r, size)
	st := e.state(0)
	n := testing.AllocsPerRun(100, func() {
		st.Step++
		rule.Update(s.w, g, s.state, st)
	})
	if n != 0 {
		t.Fatalf("an update allocates %v times", n)
	}
}

func (e Exam) nan(t *testing.T, rule optimizer.Rule) {
	r := rand.New(rand.NewPCG(7, 7))
	s, g := newSlice(rule, random(r, size)), random(r, size)
	g[5] = float32(math.NaN())
	rule.Update(s.w, g, s.state, e.state(1))
	if s.w[5] == s.w[5] {
		t.Fatalf("the gradient is NaN and the weight is %v: training that diverged would look healthy", s.w[5])
	}
}

type rester interface{ Rests(w, state []float32) bool }

// rests checks the promise of Rests: a resting slice doesn't move under zero gradients.
func (e Exam) rests(t *testing.T, rule optimizer.Rule, r rester) {
	s := newSlice(rule, random(rand.New(rand.NewPCG(8, 8)), size))
	if !r.Rests(s.w, s.state) {
		t.Fatal("a slice that was never updated doesn't rest")
	}
	before := newSlice(rule, s.w)
	g := make([]float32, size)
	for step := int64(1); step <= steps; step++ {
		rule.Update(s.w, g, s.state, e.state(step))
	}
	equal(t, "w", before.w, s.w)
	equal(t, "state", before.state, s.state)
}
