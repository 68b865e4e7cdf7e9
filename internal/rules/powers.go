package rules

import (
	"math"
	"sort"

	"github.com/gofleet/gofleet/optimizer"
)

// InertiaOf returns the inertia of a rule, which may be wrapped; 0 for a rule without momentum.
func InertiaOf(r optimizer.Rule) float64 {
	if i, ok := find[interface{ Inertia() float64 }](r); ok {
		return i.Inertia()
	}
	return 0
}

// InitState sets state to its value before the rule's first update: by the rule's InitState, or zeros without one.
func InitState(r optimizer.Rule, state []float32) {
	if s, ok := find[interface{ InitState(state []float32) }](r); ok {
		s.InitState(state)
		return
	}
	clear(state)
}

// Limits returns the largest gradients of params, by name, as [Largest] does.
func Limits(r optimizer.Rule, params []*optimizer.Param) map[string]float32 {
	limits := map[string]float32{}
	for _, p := range params {
		if own := For(r, p); own != nil {
			limits[p.Name] = Largest(own)
		}
	}
	return limits
}

// Largest returns the largest magnitude of a gradient after three of which, from the rule's first update on, its weight
// and state are finite: MaxFloat32 for most rules, and less for rules that square gradients or add them up. A rule that
// panics here has no bound: its first update in the job reports that.
func Largest(r optimizer.Rule) float32 {
	var w [1]float32
	state := make([]float32, r.StateLen(1))
	fits := func(g float32) (is bool) {
		defer func() { is = recover() != nil || is }()
		w[0] = 0
		InitState(r, state)
		for step := range int64(3) {
			r.Update(w[:], []float32{g}, state, &optimizer.State{Step: step + 1})
		}
		sum := w[0] - w[0]
		for _, v := range state {
			sum += v - v
		}
		return sum == 0
	}
	if fits(math.MaxFloat32) || !fits(1) {
		return math.MaxFloat32
	}
	return math.Float32frombits(math.Float32bits(1) + uint32(sort.Search(
		int(math.Float32bits(math.MaxFloat32)-math.Float32bits(1)),
		func(i int) bool { return !fits(math.Float32frombits(math.Float32bits(1) + uint32(i) + 1)) })))
}

// Sweeps reports whether the rule moves rows also in steps that don't use them.
func Sweeps(r optimizer.Rule) bool {
	s, ok := find[interface{ Sweeps() bool }](r)
	return ok && s.Sweeps()
}

// NeedsWhole reports whether the rule's variables must not be cut.
func NeedsWhole(r optimizer.Rule) bool {
	w, ok := find[interface{ WholeVariable() bool }](r)
	return ok && w.WholeVariable()
}

// IsRandom reports whether the rule's updates differ from one process to another.
func IsRandom(r optimizer.Rule) bool {
	x, ok := find[interface{ Random() bool }](r)
	return ok && x.Random()
}

// find returns the first of a rule and the rules inside it that implements T.
func find[T any](r optimizer.Rule) (power T, ok bool) {
	for {
		if power, ok = r.(T); ok {
			return power, true
		}
		w, wraps := r.(optimizer.Wrapper)
		if !wraps {
			return power, false
		}
		r = w.Unwrap()
	}
}
