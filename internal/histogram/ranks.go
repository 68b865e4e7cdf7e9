package histogram

import (
	"cmp"
	"math"
	"slices"
)

// AddRanked adds a score of any size with its relevance, 0 or more, for Gains and Reciprocals alone.
func (s *Scores) AddRanked(group int64, score, relevance float32) {
	key := math.Float32bits(score + 0) // −0 is 0
	if key>>31 == 1 {
		key = ^key
	} else {
		key |= 1 << 31
	}
	s.keep(scored{group, key, float64(relevance)})
}

// Gains are Σ relevance/log₂(rank+1) of the first k ranks over its value in the best order; groups without anything
// relevant have none. Equal scores have the mean over their orders.
func Gains(k int) Rule {
	return func(rows []scored) (value, weight float64) {
		ideal := slices.Clone(rows)
		slices.SortFunc(ideal, func(a, b scored) int { return cmp.Compare(a.weight, b.weight) })
		for i := range ideal {
			ideal[i].key = uint32(i)
		}
		best := gain(ideal, k)
		if best == 0 {
			return 0, 0
		}
		return gain(rows, k) / best, 1
	}
}

// Reciprocals are 1/rank of the first relevant row, as Gains.
func Reciprocals(rows []scored) (value, weight float64) {
	v, has := reciprocal(rows)
	if !has {
		return 0, 0
	}
	return v, 1
}

// fromTop yields the rows of equal scores, from the highest, with the number of those above; rows begin with the
// lowest.
func fromTop(rows []scored) func(yield func(above int, same []scored) bool) {
	return func(yield func(int, []scored) bool) {
		for to := len(rows); to > 0; {
			from := to - 1
			for from > 0 && rows[from-1].key == rows[to-1].key {
				from--
			}
			if !yield(len(rows)-to, rows[from:to]) {
				return
			}
			to = from
		}
	}
}

// gain is the discounted gain of the first k ranks.
func gain(rows []scored, k int) (sum float64) {
	for above, same := range fromTop(rows) {
		discounts, relevance := 0.0, 0.0
		for i, r := range same {
			if above+i < k {
				discounts += 1 / math.Log2(float64(above+i+2))
			}
			relevance += r.weight
		}
		sum += discounts * relevance / float64(len(same))
	}
	return sum
}

// reciprocal is that of the rank of the first relevant row, if there is one.
func reciprocal(rows []scored) (mean float64, has bool) {
	for above, same := range fromTop(rows) {
		relevant, none := 0, 1.0 // the chance that no row so far is relevant
		for _, r := range same {
			if r.weight > 0 {
				relevant++
			}
		}
		for i := 0; i < len(same) && relevant > 0; i++ {
			first := min(float64(relevant)/float64(len(same)-i), 1)
			mean, none = mean+none*first/float64(above+i+1), none*(1-first)
		}
		if relevant > 0 {
			return mean, true
		}
	}
	return 0, false
}
