package optimizer

// The state of a slice of n weights is laid out as slots: all n values of the first slot (Adam's first moments), then
// all n of the second, and so on. StateLen(n) is then a multiple of n, and a block of weights is cut in each
// slot at the same places. A rule with a StateLen that is no multiple of n (one number shared by a whole row) can't be
// cut; it serves rows only.

// A StateIniter is a rule whose state is not zero before the first update.
type StateIniter interface {
	// InitState sets all of state, the state of one slice or row, to what it is before the first update.
	InitState(state []float32)
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

// Random is a rule that draws lots: two processes that give it the same gradients come to different weights. It needs
// servers, whose weights are everybody's, or a process that is alone.
type Random interface {
	// Random says whether this configuration of the rule does so.
	Random() bool
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
