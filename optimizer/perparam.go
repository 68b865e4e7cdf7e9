package optimizer

import (
	"maps"
	"slices"
)

// PerParam trains some params by rules of their own (another learning rate, no decay of biases) and all others by Rule:
//
//	optimizer.PerParam{Rule: optimizer.Adam{LR: 1e-3}, By: map[string]optimizer.Rule{"emb": optimizer.Adagrad{LR: 0.1}}}
//
// It isn't applied itself: a param's trainer applies the rule of its name, or Rule.
type PerParam struct {
	Rule
	// By gives rules by the names of params.
	By map[string]Rule
}

// Unwrap implements [Wrapper].
func (r PerParam) Unwrap() Rule { return r.Rule }

func (r PerParam) paramNames() []string { return slices.Sorted(maps.Keys(r.By)) }
