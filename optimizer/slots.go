package optimizer

// The state of a slice of n weights is laid out as slots: all n values of the first slot (Adam's first moments), then
// all n of the second, and so on. StateLen(n) is then a multiple of n, and a block of weights is cut in each
// slot at the same places. A rule with a StateLen that is no multiple of n (one number shared by a whole row) can't be
// cut; it serves rows only.

// A StateIniter is a rule whose state is not zero before the first update.
type StateIniter interface {
	// InitState sets all of state, for one slice or row, to its values before the first update.
	InitState(state []float32)
}

// A Rester is a [Sweeper] that can tell when steps with a zero gradient will never change a slice again, so that a row
// that was not touched for a million steps is brought up to date at once. A rule inside a [Wrapper] is not asked.
type Rester interface {
	Rests(w, state []float32) bool
}

// WholeVariable is a rule that needs its slice as a whole, for example to take norms as LARS and LAMB do, so that a
// variable split in two would train differently. Placement keeps the variables of such a rule in one piece; each row of
// an embedding counts as one variable.
type WholeVariable interface {
	// WholeVariable says whether this configuration of the rule does so.
	WholeVariable() bool
}

// Random is a rule that uses random numbers: two processes with the same gradients arrive at different weights. It
// needs servers, or a process alone; collective jobs refuse it.
type Random interface {
	// Random says whether this configuration of the rule does so.
	Random() bool
}

// A Wrapper is a rule around another rule, such as one that clips gradients first. Optional methods that the wrapper
// lacks are looked up in the inner rule.
type Wrapper interface {
	Unwrap() Rule
}

// find returns the first of a rule and the rules inside it that implements T.
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
