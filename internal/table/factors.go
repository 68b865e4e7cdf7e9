package table

import (
	"slices"
	"sort"
)

// Factor multiplies learning rates from an update on.
type Factor struct {
	From int64   `json:"from"`
	By   float64 `json:"by"`
}

// SetRateFactor multiplies the learning rates of all rules from the next update on, and replaces an earlier factor.
// Updates under way keep their factor, and so do steps that rows have missed and that are replayed later.
func (s *Store) SetRateFactor(by float64) {
	if by != s.RateFactor() {
		s.steps.setFactor(by, s.replays(func(*Sparse) bool { return true }))
	}
}

// RateFactor is the factor that SetRateFactor set last, 1 if it was never called.
func (s *Store) RateFactor() float64 { return s.steps.newest() }

// RateFactors returns the factors that a store filled from this one's checkpoint needs; next is the factor of the next
// update. It has all factors if rows that are still to be created will have missed steps, else only the last; it is nil
// if that is 1.
func (s *Store) RateFactors(next float64) []Factor {
	all := s.steps.known()
	if next != s.RateFactor() {
		all = followed(slices.Clip(all), Factor{s.Step() + 1, next})
	}
	if len(all) > 0 && !s.replays(func(t *Sparse) bool { return t.rester == nil }) {
		all = all[len(all)-1:]
	}
	if len(all) == 1 && all[0].By == 1 {
		return nil
	}
	return slices.Clone(all)
}

// Factors returns all factors that are kept.
func (s *Store) Factors() []Factor { return slices.Clone(s.steps.known()) }

// SetRateFactors restores what RateFactors or Factors returned.
func (s *Store) SetRateFactors(all []Factor) { s.steps.factors.Store(&all) }

// replays reports whether rows of any such table miss steps.
func (s *Store) replays(such func(*Sparse) bool) bool {
	return slices.ContainsFunc(s.Tables, func(t *Sparse) bool { return t.sweeps && such(t) })
}

// setFactor sets the factor of the next update. Earlier factors are kept for updates that are not finished, or all of
// them for steps that will be replayed.
func (p *progress) setFactor(by float64, all bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, open := p.known(), p.finished.Load()+1
	for !all && len(now) > 1 && now[1].From <= open {
		now = now[1:]
	}
	now = followed(now, Factor{p.last + 1, by})
	p.factors.Store(&now)
}

// followed appends a factor, which replaces one from the same update. Concurrent readers of the earlier factors are not
// affected.
func followed(all []Factor, f Factor) []Factor {
	if n := len(all); n > 0 && all[n-1].From == f.From {
		all = all[: n-1 : n-1]
	}
	return append(all, f)
}

func (p *progress) known() []Factor {
	if all := p.factors.Load(); all != nil {
		return *all
	}
	return nil
}

// newest is the factor of the next update.
func (p *progress) newest() float64 {
	if all := p.known(); len(all) > 0 {
		return all[len(all)-1].By
	}
	return 1
}

// factorAt is the factor of an update, 0 if there was none yet, which rules treat as 1. A nil progress has none.
func (p *progress) factorAt(step int64) float64 {
	if p == nil {
		return 0
	}
	all := p.known()
	if i := sort.Search(len(all), func(i int) bool { return all[i].From > step }); i > 0 {
		return all[i-1].By
	}
	return 0
}
