package rules

import "github.com/gofleet/gofleet/optimizer"

// InertiaOf returns the inertia of a rule, which may be wrapped; 0 for a rule without momentum.
func InertiaOf(r optimizer.Rule) float64 {
	if i, ok := find[optimizer.Inertial](r); ok {
		return i.Inertia()
	}
	return 0
}

// InitState sets state to its value before the rule's first update: by the rule's InitState, or zeros without one.
func InitState(r optimizer.Rule, state []float32) {
	if s, ok := find[optimizer.StateIniter](r); ok {
		s.InitState(state)
		return
	}
	clear(state)
}

// Sweeps reports whether the rule moves rows also in steps that don't use them.
func Sweeps(r optimizer.Rule) bool {
	s, ok := find[optimizer.Sweeper](r)
	return ok && s.Sweeps()
}

// NeedsWhole reports whether the rule's variables must not be cut.
func NeedsWhole(r optimizer.Rule) bool {
	w, ok := find[optimizer.WholeVariable](r)
	return ok && w.WholeVariable()
}

// IsRandom reports whether the rule's updates differ from one process to another.
func IsRandom(r optimizer.Rule) bool {
	x, ok := find[optimizer.Random](r)
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
