package twin

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Differences are those of what was seen from what the twin says, in the order of its calls. Where rounding decides
// a sign, the twin takes another if the first is wrong; followed are the numbers of which it did.
func (p Program) Differences(saw Seen) (wrong, followed []string) {
	for _, copies := range []int{p.copies(), 4 * p.copies()} { // few may all be rounded in ways that matter little
		if wrong = p.differences(saw, picksOf(copies)); len(wrong) == 0 {
			return nil, nil
		}
	}
	return p.follow(saw, wrong, nil)
}

// follow are the differences that are left by some choice of signs behind those that are taken.
func (p Program) follow(saw Seen, wrong []string, taken map[string]float64) (least, followed []string) {
	first := picksOf(p.copies())
	first.noted, first.taken = true, taken
	p.differences(saw, first)
	exact := len(first.signs) - len(first.copies) - 1 // plays from whose versions others pick come before
	name := undecided(first.signs[exact], first.signs[exact+1:])
	if name == "" || len(taken) == mostUndecided {
		return wrong, nil
	}
	for _, sign := range []float64{-1, 1, 0} {
		more := map[string]float64{name: sign}
		maps.Copy(more, taken)
		again := picksOf(p.copies())
		again.taken = more
		left := p.differences(saw, again)
		if len(left) > 0 {
			left, followed = p.follow(saw, left, more)
		}
		if len(left) == 0 {
			return nil, append(followed, name)
		}
	}
	return wrong, nil
}

func picksOf(copies int) *picks {
	return &picks{at: map[string]int{}, copies: make([][][]*state, copies)}
}

// differences are Differences by one choice of signs.
func (p Program) differences(saw Seen, picks *picks) (all []string) {
	play := func() (all []Sights) {
		for i := range picks.copies {
			all = append(all, p.Model(saw, uint64(i+1), picks))
		}
		return all
	}
	if slices.ContainsFunc(p.Legs, Leg.ordered) { // what the copies have had when the exact one picks
		play()
	}
	picks.made = true
	exact, copies := p.Model(saw, 0, picks), play()
	note := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	for _, name := range exact.order {
		want := exact.of[name]
		got, ok := saw.of[name]
		if !ok || len(got) != len(want) {
			note("%s: %v, want %v", name, short(got), short(want))
			continue
		}
		rounded := make([][]float64, len(copies))
		for k, c := range copies {
			rounded[k] = c.of[name]
		}
		least := p.alike(want, rounded)
		for i := range want {
			may := p.allowed(want[i], i, rounded, least)
			if both := math.IsNaN(got[i]) && math.IsNaN(want[i]); !both && !(math.Abs(got[i]-want[i]) <= may) {
				note("%s [%d]: %.7g, want %.7g, may be %.2g off", name, i, got[i], want[i], may)
				break
			}
		}
	}
	all = append(all, p.disagree(saw)...)
	for _, name := range saw.order {
		if _, ok := exact.of[name]; !ok && !p.unseen(name) {
			note("%s: %v, which should not be there", name, short(saw.of[name]))
		}
	}
	return all
}

// copies are how many copies of the twin are rounded. What a narrow payload does is seldom seen by two alone: in each
// of them what is owed and what comes back may cancel out.
func (p Program) copies() int {
	if p.narrow() {
		return 5
	}
	return 2
}

// times is how many times as far a number may be off as roundings move the copies.
func (p Program) times() float64 {
	if p.narrow() { // whose copies are rounded as far as they may be
		return 8
	}
	return 40
}

// disagree are copies of workers that differ from what was published, where all are to be one.
func (p Program) disagree(saw Seen) (all []string) {
	for _, l := range p.Legs {
		want := saw.of[l.End+" predicts"]
		for w := range l.Workers {
			if got, ok := saw.of[fmt.Sprintf("%s worker %d copies", l.End, w)]; ok && !slices.Equal(got, want) {
				all = append(all, fmt.Sprintf("%s: worker %d's copy predicts %v, what is published %v", l.End, w, got,
					want))
			}
		}
	}
	return all
}

// unseen says whether a sight is of a leg of which the model knows the ledger alone.
func (p Program) unseen(name string) bool {
	at, _, _ := strings.Cut(name, " ")
	for _, l := range p.Legs {
		if l.End == at || slices.ContainsFunc(l.Calls, func(c Call) bool { return c.At == at }) {
			return l.blind() && !strings.Contains(name, ledgerName)
		}
	}
	return false
}

// allowed is how far a number of a list may be from the twin's, copies of which have been rounded: a few times of what
// that did.
func (p Program) allowed(want float64, i int, copies [][]float64, least float64) float64 {
	rounding := least
	for _, c := range copies {
		if i >= len(c) {
			return math.Inf(1)
		}
		rounding = math.Max(rounding, math.Abs(c[i]-want))
	}
	if math.IsNaN(rounding) {
		return math.Inf(1)
	}
	return 2e-5*(1+math.Abs(want)) + p.times()*rounding
}

// alike is how far roundings of narrow payloads move the numbers of a list on average, which are rounded alike.
func (p Program) alike(want []float64, copies [][]float64) (mean float64) {
	if !p.narrow() {
		return 0
	}
	for _, c := range copies {
		if len(c) != len(want) {
			return 0
		}
		for i := range want {
			mean += math.Abs(c[i]-want[i]) / float64(len(copies)*len(want))
		}
	}
	return mean
}

// at is a number of a sight.
func (s Sights) at(name string, i int) float64 {
	if v := s.of[name]; i < len(v) {
		return v[i]
	}
	return math.NaN()
}

// short are the first numbers of a list.
func short(v []float64) string {
	if v == nil {
		return "nothing"
	}
	text := strings.Trim(fmt.Sprintf("%.6g", v[:min(len(v), 4)]), "[]")
	if len(v) > 4 {
		text += " …"
	}
	return text
}
