package twin

import (
	"cmp"
	"fmt"
	"math"
)

// signs are those that one play of the twin asks for: of weights, for decay by L1, and of the first gradients of Ftrl,
// which moves a weight by its rate whatever their size, and forgets it where they are 0: of a row's as a whole first,
// whose numbers may all be of one that cancels out; Lars decays a weight by its whole rate unless the gradient is 0. A
// number may be so near 0 that rounding decides its sign: the door may have the other, or none, and goes another way
// from there.
type signs struct {
	taken map[string]float64 // in place of a number's own
	seen  map[string]float64 // the numbers whose signs were asked for, nil if they are not noted
	order []string           // their names as they came
	leg   int                // that is played
}

// of is the sign of a number of a slot: of a weight, or of its gradient.
func (n *signs) of(x float64, s *slot, what string, i int) float64 {
	if n.taken != nil || n.seen != nil {
		name := fmt.Sprintf("%s%s [%d] in update %d of leg %d", what, s.name, i, s.updates+1, n.leg)
		if sign, ok := n.taken[name]; ok {
			return sign
		}
		if n.seen != nil {
			n.seen[name], n.order = x, append(n.order, name)
		}
	}
	return float64(cmp.Compare(x, 0))
}

// nearness is how many times as far as rounding moves it a number may be from 0 for its sign to be undecided.
const nearness = 4

// mostUndecided is how many undecided signs of a program are followed, one behind the other.
const mostUndecided = 4

// undecided is the first number that was asked for its sign where rounding decides it, by what the play without noise
// and those with it have seen; "" if there is none, but for those that are taken.
func undecided(exact *signs, rounded []*signs) string {
	for _, name := range exact.order {
		w, moved := exact.seen[name], 0.0
		for _, r := range rounded {
			moved = max(moved, math.Abs(r.seen[name]-w))
		}
		if math.Abs(w) < nearness*moved {
			return name
		}
	}
	return ""
}
