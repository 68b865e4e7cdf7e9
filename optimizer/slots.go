package optimizer

// The state of a slice of n weights is laid out as slots: all n values of the first slot (Adam's first moments), then
// all n of the second, and so on. StateLen(n) is then a multiple of n, and whoever cuts a block of weights cuts each
// slot at the same places. A rule with a StateLen that is no multiple of n (one number shared by a whole row) can't be
// cut; it serves rows only.

// A StateIniter is a rule whose state is not zero before the first update.
type StateIniter interface {
	// InitState sets all of state, the state of one slice or row, to what it is before the first update.
	InitState(state []float32)
}

// InitState sets state to what it is before the rule's first update: what its InitState says, zeros if it has none.
func InitState(r Rule, state []float32) {
	if s, ok := find[StateIniter](r); ok {
		s.InitState(state)
		return
	}
	clear(state)
}

// Sweeps says whether the rule's rows move in steps that don't touch them.
func Sweeps(r Rule) bool {
	s, ok := find[Sweeper](r)
	return ok && s.Sweeps()
}

// A Rester is a [Sweeper] that can tell when steps with a zero gradient will never again change a slice, so that a row
// which was not touched for a million steps is brought up to date at once. The rule inside a [Wrapper] is not asked.
type Rester interface {
	Rests(w, state []float32) bool
}

// WholeVariable is a rule that looks at its slice as a whole (it takes norms, like LARS and LAMB), so that a variable
// cut in two would train differently. Placement keeps such a rule's variables in one piece, and a row of an embedding
// is one.
type WholeVariable interface {
	// WholeVariable says whether this configuration of the rule does so.
	WholeVariable() bool
}

// NeedsWhole says whether the rule's variables must not be cut.
func NeedsWhole(r Rule) bool {
	w, ok := find[WholeVariable](r)
	return ok && w.WholeVariable()
}

// Random is a rule that draws lots: two processes that give it the same gradients come to different weights. It needs
// servers, whose weights are everybody's, or a process that is alone.
type Random interface {
	// Random says whether this configuration of the rule does so.
	Random() bool
}

// IsRandom says whether the rule's updates differ from one process to another.
func IsRandom(r Rule) bool {
	x, ok := find[Random](r)
	return ok && x.Random()
}

// A Wrapper is a rule around another, such as one that clips gradients first. What the wrapper can't do itself the rule
// inside is asked for.
type Wrapper interface {
	Unwrap() Rule
}

// find returns the first of a rule and the rules inside it that has the power T.
func find[T any](r Rule) (power T, ok bool) {
	for {
		if power, ok = r.(T); ok {
			return power, true
		}
		w, wraps := r.(Wrapper)
		if !wraps {
			return power, false
		}
		r = w.Unwrap()
	}
}
