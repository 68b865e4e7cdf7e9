package histogram

import (
	"maps"
	"slices"
)

// Rule is what a mean over groups has of one: its value times its weight, and the weight; a group of weight 0 is left
// out. rows begin with the lowest score.
type Rule func(rows []scored) (value, weight float64)

// AUCs are the AUCs of groups, weighted by their scores.
func AUCs(rows []scored) (value, weight float64) {
	area, pos, neg := areaOf(rows)
	if pos*neg == 0 {
		return 0, 0
	}
	return (pos + neg) * area / (pos * neg), pos + neg
}

// Mean is the mean over groups, with the same bits for any division of the scores; NaN without a group.
func (s *Scores) Mean(of Rule) float64 {
	sum, weights := 0.0, 0.0
	for rows := range s.byGroup {
		value, weight := of(rows)
		sum, weights = sum+value, weights+weight
	}
	return sum / weights
}

// Now is the mean over groups, but for the last bits. Called with the same rule as scores come, it costs what the
// groups cost that have changed, and not what all do.
func (s *Scores) Now(of Rule) float64 {
	if s.follows == nil {
		s.follows = &running{groups: map[int64]*followed{}}
		for _, r := range s.rows {
			s.follows.add(r)
		}
	}
	return s.follows.mean(of)
}

// running is a mean over groups, kept up to date.
type running struct {
	groups      map[int64]*followed
	changed     []*followed
	room        []scored
	sum, weight float64
}

// followed is a group with its part in the mean.
type followed struct {
	rows          []scored
	sorted        int
	value, weight float64
	changed, gone bool
}

func (r *running) add(row scored) {
	if r == nil {
		return
	}
	g := r.groups[row.group]
	if g == nil {
		g = new(followed)
		r.groups[row.group] = g
	}
	if g.rows = append(g.rows, row); !g.changed {
		g.changed, r.changed = true, append(r.changed, g)
	}
}

func (r *running) mean(of Rule) float64 {
	for _, g := range r.changed {
		if g.changed = false; g.gone {
			continue
		}
		r.room = merge(g.rows, g.sorted, r.room)
		g.sorted = len(g.rows)
		value, weight := of(g.rows)
		r.sum, r.weight = r.sum+value-g.value, r.weight+weight-g.weight
		g.value, g.weight = value, weight
	}
	if r.changed = r.changed[:0]; r.weight == 0 {
		r.sum = 0 // no rounding stays
	}
	return r.sum / r.weight
}

// forget forgets groups.
func (r *running) forget(which func(group int64) bool) {
	if r == nil {
		return
	}
	for _, group := range slices.Sorted(maps.Keys(r.groups)) { // so that a run has the same bits again
		if g := r.groups[group]; which(group) {
			r.sum, r.weight, g.gone = r.sum-g.value, r.weight-g.weight, true
			delete(r.groups, group)
		}
	}
}
