package twin

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
)

// state is all that a job keeps, in one place.
type state struct {
	p       *Program
	vars    map[string]*slot
	rows    map[string]map[uint64]*row
	waiting map[string]map[uint64]waiter // ids that have no row yet
	counts  map[string]count             // of tables
	steps   int                          // updates
	factor  float64                      // on learning rates
	clock   int                          // periods that have ended
	pace    pace                         // of copies that meet seldom
	noise   *rand.Rand                   // nil means none
	signs   *signs
	moments moments // of a checkpoint
	model   bool    // of what is saved: it has weights alone
}

// count is what was counted of a table since the leg began: rows that shrink dropped, that were born, and gradients of
// ids that have none.
type count struct{ dropped, born, kept int }

// waiter is how often an id was pushed, and the period in which it was pushed last.
type waiter struct {
	pushes, seen int
	marks
}

// row is a row, and the period in which it was used last.
type row struct {
	*slot
	seen int
	marks
}

func newState(p *Program, noise *rand.Rand, signs *signs) *state {
	s := &state{p: p, factor: 1, noise: noise, signs: signs, vars: map[string]*slot{}, counts: map[string]count{},
		rows: map[string]map[uint64]*row{}, waiting: map[string]map[uint64]waiter{}}
	for _, name := range p.Net.variables() {
		s.vars[name] = newSlot(name, p.firstOf(name))
	}
	for _, t := range p.Net.tables() {
		s.rows[t.Name], s.waiting[t.Name] = map[uint64]*row{}, map[uint64]waiter{}
	}
	return s
}

// clone is a copy of all, as a checkpoint is.
func (s *state) clone() *state {
	c := *s
	c.vars, c.rows, c.waiting = map[string]*slot{}, map[string]map[uint64]*row{}, map[string]map[uint64]waiter{}
	c.counts = maps.Clone(s.counts)
	for name, v := range s.vars {
		c.vars[name] = v.clone()
	}
	for name, rows := range s.rows {
		c.rows[name], c.waiting[name] = map[uint64]*row{}, maps.Clone(s.waiting[name])
		for id, r := range rows {
			c.rows[name][id] = &row{r.slot.clone(), r.seen, r.marks}
		}
	}
	return &c
}

// first is a row as it is born.
func (s *state) first(t Table, id uint64) []float64 {
	if t.Name == ledgerName {
		return make([]float64, t.Dim)
	}
	return firstRow(s.p.Seed, t.Name, id, spread, t.Dim)
}

// missing is what a row reads as that is not there.
func (s *state) missing(t Table, id uint64) []float64 {
	if t.Height > 0 {
		return s.first(t, id)
	}
	return make([]float64, t.Dim)
}

// evaluating reads as evaluations do, training as steps do: a row that an entry lets in is read as it will be born.
type evaluating struct{ *state }

func (s evaluating) dense(name string) []float64 { return s.vars[name].w }

func (s evaluating) row(t Table, id uint64) []float64 {
	if r := s.rows[t.Name][id]; r != nil {
		return r.w
	}
	return s.missing(t, id)
}

type training struct{ *state }

func (s training) dense(name string) []float64 { return s.vars[name].w }

func (s training) row(t Table, id uint64) []float64 { return s.trains(t, id) }

// trains is what a step reads of a row, which leaves no trace: pushes alone bring rows to life.
func (s *state) trains(t Table, id uint64) []float64 {
	switch r := s.rows[t.Name][id]; {
	case r != nil:
		return r.w
	case t.waits() || !t.drawn(s.p.Seed, id):
		return s.missing(t, id)
	}
	return s.first(t, id)
}

// apply makes an update of a round's gradient. pushed says how many pushes had each id.
func (s *state) apply(rules Rules, g *gradient, pushed map[string]map[uint64]int) {
	clip(rules, g)
	s.applyClipped(rules, g, pushed)
}

// applyClipped makes an update of a gradient that is not too long.
func (s *state) applyClipped(rules Rules, g *gradient, pushed map[string]map[uint64]int) {
	s.steps++
	for _, name := range s.p.Net.variables() {
		v, d := s.vars[name], g.dense[name]
		if d == nil {
			d = make([]float64, len(v.w))
		}
		rules.Of(name).update(v, s.rough(d), s.steps, false, s.factor, s.signs)
		s.round(v.w)
	}
	for _, t := range s.p.Net.tables() {
		s.applyRows(rules.Of(t.Name), t, g, pushed[t.Name])
	}
}

func (s *state) applyRows(rule Rule, t Table, all *gradient, pushed map[uint64]int) {
	g, n := all.rows[t.Name], s.counts[t.Name]
	defer func() { s.counts[t.Name] = n }()
	if rule.Dense {
		for id, r := range s.rows[t.Name] {
			if g[id] == nil {
				rule.update(r.slot, make([]float64, t.Dim), s.steps, true, s.factor, s.signs)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(g)) {
		r, m := s.rows[t.Name][id], all.marks[t.Name][id]
		if r == nil {
			if !t.drawn(s.p.Seed, id) {
				n.kept++
				continue
			}
			before := s.waiting[t.Name][id]
			w := waiter{before.pushes + max(1, pushed[id]), s.clock, before.plus(m)}
			if s.waiting[t.Name][id] = w; t.waits() && !t.enough(w) {
				n.kept++
				continue
			}
			n.born++
			delete(s.waiting[t.Name], id)
			r = &row{slot: newSlot(fmt.Sprintf("%s row %d", t.Name, id), s.first(t, id)), marks: before.marks}
			s.rows[t.Name][id] = r
		}
		r.marks, r.seen = r.plus(m), s.clock
		rule.update(r.slot, s.rough(g[id]), s.steps, true, s.factor, s.signs)
		s.round(r.w)
	}
}

// roughen is rough for all of a step's gradient, in place.
func (s *state) roughen(g *gradient) {
	for _, name := range s.p.Net.variables() {
		g.dense[name] = s.rough(g.dense[name])
	}
	for _, t := range s.p.Net.tables() {
		rows := g.rows[t.Name]
		for _, id := range slices.Sorted(maps.Keys(rows)) {
			rows[id] = s.rough(rows[id])
		}
	}
}

// rough is a gradient as float32 might have it, for the copies of the twin that say what rounding does.
func (s *state) rough(g []float64) []float64 {
	if s.noise == nil {
		return g
	}
	g = copied(g)
	for i := range g {
		g[i] += (math32 * g[i]) * (2*s.noise.Float64() - 1)
	}
	return g
}

const math32 = 1.0 / (1 << 21)

func (s *state) round(w []float64) {
	if s.noise == nil {
		return
	}
	for i := range w {
		w[i] += w[i] * (2*s.noise.Float64() - 1) / (1 << 23)
	}
}

// shrink ends a period.
func (s *state) shrink(c Call) map[string]int {
	freed, unseen := map[string]int{}, c.Unseen
	for _, t := range s.p.Net.tables() {
		name, rows, n := t.Name, s.rows[t.Name], s.counts[t.Name]
		for id, r := range rows {
			if t.Score > 0 && c.Decay > 0 {
				r.marks = r.times(c.Decay)
			}
			if unseen > 0 && s.clock-r.seen >= unseen || t.Score > 0 && r.score() < c.Least {
				delete(rows, id)
				freed[name]++
				n.dropped++
			}
		}
		s.counts[name] = n
	}
	for _, ids := range s.waiting {
		maps.DeleteFunc(ids, func(_ uint64, w waiter) bool { return unseen > 0 && s.clock-w.seen >= unseen })
		for id, w := range ids {
			if c.Decay > 0 {
				w.marks = w.times(c.Decay)
				ids[id] = w
			}
		}
	}
	s.clock++
	return freed
}

// forget leaves weights alone, of rows that were used now.
func (s *state) forget() {
	for name, rows := range s.rows {
		s.waiting[name] = map[uint64]waiter{}
		for _, r := range rows {
			r.seen, r.marks = s.clock, marks{}
		}
	}
}

// load takes what a checkpoint holds: all of it, or some params.
func (s *state) load(from *state, only []string, weightsOnly bool) {
	c := from.clone()
	whole := len(only) == 0 && !c.model
	takes := func(name string) bool { return len(only) == 0 || slices.Contains(only, name) }
	if weightsOnly = weightsOnly || c.model; c.model {
		c.forget()
	}
	for name, v := range c.vars {
		if !takes(name) {
			continue
		}
		if weightsOnly {
			v = v.fresh()
		}
		s.vars[name] = v
	}
	for name, rows := range c.rows {
		if !takes(name) {
			continue
		}
		s.rows[name], s.waiting[name] = rows, c.waiting[name]
		for _, r := range rows {
			if weightsOnly {
				r.slot = r.slot.fresh()
			}
			r.seen += s.clock - c.clock // it was used so many periods ago
		}
		for id, w := range c.waiting[name] {
			s.waiting[name][id] = waiter{w.pushes, w.seen + s.clock - c.clock, w.marks}
		}
	}
	if whole && !weightsOnly {
		s.steps, s.factor, s.pace = c.steps, c.factor, c.pace
	}
}
