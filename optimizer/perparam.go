package optimizer

import (
	"maps"
	"slices"
)

// PerParam trains some params with rules of their own (another learning rate, no decay of biases) and all others with
// Rule:
//
//	optimizer.PerParam{Rule: optimizer.Adam{LR: 1e-3}, By: map[string]optimizer.Rule{"emb": optimizer.Adagrad{LR: 0.1}}}
//
// Its own Update is not used: the trainer applies the rule for the param's name, or Rule.
type PerParam struct {
	Rule
	// By maps names of params to their rules.
	By map[string]Rule
}

// Unwrap implements [Wrapper].
func (r PerParam) Unwrap() Rule { return r.Rule }

func (r PerParam) paramNames() []string { return slices.Sorted(maps.Keys(r.By)) }
