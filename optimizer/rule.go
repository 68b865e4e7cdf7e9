package optimizer

// Rule is an update formula for one slice of weights: a whole variable, a block of one, or a row of an embedding.
//
// Contract: Update changes w and state in place and nothing else, element by element in index order, without
// allocating, and gives the same result for a slice as for its parts (slice-invariance), so that placement can't change
// training. The three slices have len(w) == len(g) and len(state) == StateLen(len(w)); state is zero before the first
// update. Update may be called from many goroutines at once with different slices and a State of the goroutine's own.
// Rules are plain comparable structs whose types and fields, by name and where they are not zero, are part of the
// fingerprint that servers and workers compare: a field that a later version of a rule adds must do nothing at zero.
// They are given by value, and [CheckRule] refuses pointers and functions in them unless a String method prints for
// them. Package optimizertest holds a rule to all this.
//
// The state of n weights is laid out as slots: all n values of the first (Adam's first moments), then all n of the
// second, and so on. StateLen(n) is then a multiple of n, and a block of weights is cut in each slot at the same
// places. A rule with a StateLen that is no multiple of n (one number shared by a whole row) can't be cut; it serves
// rows only.
//
// A rule may have further methods, besides [Rated]'s. Where it lacks one, the rule that its Unwrap returns is asked
// ([Wrapper]); methods that return a bool say whether this configuration of the rule does so:
//
//	Check() error
//		what is wrong with its settings, with their values and what is permitted; schedules and initializers may have it
//	InitState(state []float32)
//		sets the state of a slice before its first update, where it is not zero
//	Inertia() float64
//		the fraction of an update that the next one repeats, at least 0 and below 1: Adam's β₁, the μ of momentum, by
//		which a server predicts its weights before the next gradients are known
//	Sweeps() bool
//		rows move in steps that don't touch them (moments decay and pull the weight along), as with the original's Adam
//		without lazy_mode: tables replay these steps, with zero gradients, before a row is next read or written
//	Rests(w, state []float32) bool
//		with Sweeps, and not asked of a rule inside another: steps with a zero gradient will never change the slice again, so
//		that a row that was not touched for a million steps is brought up to date at once
//	WholeVariable() bool
//		it needs its slice as a whole, for example to take norms as LARS and LAMB do: placement keeps its variables in
//		one piece; each row of an embedding counts as one
//	Random() bool
//		it uses random numbers, so that two processes with the same gradients arrive at different weights: it needs
//		servers, or a process alone; collective jobs refuse it
type Rule interface {
	// Name is the rule's name in the original, in lower case: "sgd", "adam".
	Name() string
	// StateLen is how many floats of state (moments, accumulators) a slice of n weights needs.
	StateLen(n int) int
	// Update applies the gradient g to w.
	Update(w, g, state []float32, s *State)
}

// State is the further input of an update besides its slices. The zero value is ready for a first step; callers keep
// one per goroutine and variable and change Step.
type State struct {
	// Step counts the updates of the variable, 1 for the first; 0 counts as 1.
	Step int64
	// Row says that the slice is a row of an embedding which only steps that touch it update.
	Row bool
	// Show is how often the update's samples show the row, where the param's Entry is a [ShowClick]; 0 where shows
	// aren't counted.
	Show float32

	// RateFactor multiplies the learning rate: the factor that a running job has set; 0 means 1. [State.Rate] includes
	// it.
	RateFactor float64

	// Memo caches values that a rule derives from Step, such as a bias correction, so that thousands of rows share the
	// work. It belongs to the step MemoStep; 0 means that it is empty.
	Memo     [4]float32
	MemoStep int64

	buffer []float32
}

// Buffer returns n floats of scratch space with arbitrary contents. A rule that changes the gradient before another
// rule sees it writes the new gradient there. There is one buffer: with nested rules the same slice is both gradient
// and destination, so a rule must work element by element in index order.
func (s *State) Buffer(n int) []float32 {
	if cap(s.buffer) < n {
		s.buffer = make([]float32, n)
	}
	return s.buffer[:n]
}
