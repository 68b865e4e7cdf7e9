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

// A Sweeper is a rule whose rows move in steps that don't touch them (moments decay and pull the weight along), as the
// original's Adam without lazy_mode does. Tables replay the missed steps, each an update with a zero gradient, before a
// row is next read or written.
type Sweeper interface {
	Rule
	// Sweeps says whether this configuration of the rule does so.
	Sweeps() bool
}
