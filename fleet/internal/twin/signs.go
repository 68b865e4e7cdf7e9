package twin

import (
	"cmp"
	"fmt"
	"math"
)

// signs are those of weights, which decay by L1 asks for, in one play of the twin. A weight may be so near 0 that
// rounding decides its sign: the door may have the other, or none, and goes another way from there.
type signs struct {
	taken map[string]float64 // in place of the weight's own
	seen  map[string]float64 // the weights that were asked for, nil if they are not noted
	order []string           // their names as they came
}

// of is the sign of a weight.
func (n *signs) of(s *slot, i int) float64 {
	if n.taken != nil || n.seen != nil {
		name := fmt.Sprintf("%s [%d] in update %d", s.name, i, s.updates+1)
		if sign, ok := n.taken[name]; ok {
			return sign
		}
		if n.seen != nil {
			n.seen[name], n.order = s.w[i], append(n.order, name)
		}
	}
	return float64(cmp.Compare(s.w[i], 0))
}

// nearness is how many times as far as rounding moves it a weight may be from 0 for its sign to be undecided.
const nearness = 4

// mostUndecided is how many undecided signs of a program are followed, one behind the other.
const mostUndecided = 4

// undecided is the first weight that was asked for its sign where rounding decides it, by what the play without noise
// and those with it have seen; "" if there is none, but for those that are taken.
func undecided(exact *signs, rounded []*signs) string {
	for _, name := range exact.order {
		w, moved := exact.seen[name], 0.0
		for _, r := range rounded {
			moved = max(moved, math.Abs(r.seen[name]-w))
		}
		if w != 0 && math.Abs(w) < nearness*moved {
			return name
		}
	}
	return ""
}
