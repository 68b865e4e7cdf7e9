package optimizer

import (
	"maps"
	"slices"
)

// PerParam trains some params by rules of their own (another learning rate, no decay of biases) and all others by Rule:
//
//	optimizer.PerParam{Rule: optimizer.Adam{LR: 1e-3}, By: map[string]optimizer.Rule{"emb": optimizer.Adagrad{LR: 0.1}}}
//
// It isn't applied itself: trainers ask [RuleFor] which rule is a param's.
type PerParam struct {
	Rule
	// By gives rules by the names of params.
	By map[string]Rule
}

// Unwrap implements [Wrapper].
func (r PerParam) Unwrap() Rule { return r.Rule }

func (r PerParam) paramNames() []string { return slices.Sorted(maps.Keys(r.By)) }

// RuleFor is the rule that trains a param: its own in a [PerParam], otherwise r; nil for a frozen param.
func RuleFor(r Rule, p *Param) Rule {
	if p.Frozen {
		return nil
	}
	if per, ok := find[PerParam](r); ok {
		if own, ok := per.By[p.Name]; ok {
			return own
		}
		return per.Rule
	}
	return r
}
