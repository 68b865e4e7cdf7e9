package twin

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/gofleet/gofleet/strategy"
)

// In the modes without rounds the order of pushes decides, and which weights a step has read. Both are known: the
// network notes the order, and steps show what they read. So the model takes each gradient from the weights that its
// step says it had, applies pushes in their order, and asks of each step, and of each evaluation, whether what it
// read was what the servers had at some moment: not later than its end, and not before what the mode promises.

// step is a training step of a worker between two meetings of all.
type step struct {
	*gradient
	read   reading
	at     string
	worker int
	epoch  string // the call
	number int    // in the epoch
	last   bool
}

// ordered is what the model knows of such a leg.
type ordered struct {
	events  []*event
	seen    Seen
	applied int // events
	steps   []step
	looks   []string
	samples map[string][]int
	// averages are those of looks.
	averages map[string]moments
	last     int // events before the last sight
	// versions are what the servers have behind so many events and, when all have met, what these have changed.
	versions []*state
	met      int                      // events when all met last
	own      map[int][]int            // versions with a worker's pushes
	came     map[string]map[int][]int // the same by epoch
}

// train notes the steps of an epoch: they are replayed when all meet.
func (o *ordered) train(m *model, at string, c Call) {
	for w, steps := range c.Batches {
		for i, batch := range steps {
			name := fmt.Sprintf("%s worker %d step %d", at, w, i)
			read := o.read(m.p, name, batch)
			g, y := m.p.batch(read, batch, m.kept(name), m.noise)
			m.saw.see(y, "%s trains on", name)
			m.moves(w, batch)
			o.last = max(o.last, o.seen.windows[name][1])
			last := i+1 == len(steps)
			o.steps = append(o.steps, step{gradient: g, read: read, at: name, worker: w, epoch: at, number: i,
				last: last})
			for _, l := range c.Looks {
				if l.Worker == w && l.Step == i {
					m.look(fmt.Sprintf("%s worker %d behind step %d", at, w, i), w, batch, nil)
				}
			}
		}
	}
}

func (o *ordered) look(at string, samples []int, by moments) {
	name := at + " sees"
	o.averages[name] = by
	o.looks = append(o.looks, name)
	o.samples[name] = samples
	o.last = max(o.last, o.seen.windows[name][1])
}

// reading are the weights that a step has read, as it says.
type reading struct {
	vars map[string][]float64
	rows map[string]map[uint64][]float64
}

func (r reading) dense(name string) []float64      { return r.vars[name] }
func (r reading) row(t Table, id uint64) []float64 { return r.rows[t.Name][id] }

func (o *ordered) read(p *Program, at string, batch []int) reading {
	r := reading{map[string][]float64{}, map[string]map[uint64][]float64{}}
	for _, name := range p.Net.variables() {
		if r.vars[name] = o.seen.of[at+" reads "+name]; r.vars[name] == nil {
			r.vars[name] = make([]float64, p.Net.size(name))
		}
	}
	for i, t := range p.Net.tables() {
		r.rows[t.Name] = map[uint64][]float64{}
		for _, id := range p.ids(i, batch) {
			w := o.seen.of[fmt.Sprintf("%s reads %s row %d", at, t.Name, id)]
			if w == nil {
				w = make([]float64, t.Dim)
			}
			r.rows[t.Name][id] = w
		}
	}
	return r
}

// meet replays what happened since all met last.
func (o *ordered) meet(m *model) {
	pushed, units := o.pushes(m)
	for until := o.until(pushed, units); o.applied < until; o.applied++ {
		e := o.events[o.applied]
		var together []*gradient
		var last step
		for _, u := range pushed[e] {
			last = u
			clip(m.l.Rules, u.gradient)
			m.now.roughen(u.gradient)
			for _, name := range append(m.p.Net.variables(), tableNames(m.p.Net)...) {
				if m.l.limits(name) {
					u.limit(name, m.l.Rules.Of(name).Max)
				}
			}
			together = append(together, u.gradient)
			m.work[e.worker].steps++
		}
		if len(together) > 0 {
			for _, rows := range merged(together, true).rows {
				m.work[e.worker].rows += int64(len(rows))
			}
			m.now.applyPush(m.l, together, last, m.owes(e.worker, last.epoch))
			o.own[e.worker] = append(o.own[e.worker], o.applied+1)
			o.has(last, o.applied+1)
		}
		o.versions = append(o.versions, m.now.clone())
	}
	for w, left := range units {
		for _, s := range left {
			m.saw.see(nil, "worker %d pushes %s", w, s.at) // which nobody saw
		}
	}
	m.picks.meet(m.number, m.meetings, o.versions)
	for i := range o.steps {
		o.check(m, &o.steps[i])
	}
	for _, name := range o.looks {
		o.checkLook(m, name)
	}
	o.steps, o.looks, o.met = nil, nil, o.applied
	m.meetings++
}

// pushes are the steps of each push. Pushes may overtake each other; each has the steps that come by its number.
func (o *ordered) pushes(m *model) (of map[*event][]step, left map[int][]step) {
	of, left = map[*event][]step{}, o.units(m)
	events := slices.Clone(o.events[o.applied:])
	slices.SortStableFunc(events, func(a, b *event) int { return cmp.Compare(a.seq, b.seq) })
	for _, e := range events {
		for n := 0; n < e.samples && len(left[e.worker]) > 0; left[e.worker] = left[e.worker][1:] {
			u := left[e.worker][0]
			of[e], n = append(of[e], u), n+u.samples
		}
	}
	return of, left
}

// has notes that a step, and those before that were pushed with it, are in a version.
func (o *ordered) has(s step, version int) {
	if o.came[s.epoch] == nil {
		o.came[s.epoch] = map[int][]int{}
	}
	o.came[s.epoch][s.worker] = append(o.came[s.epoch][s.worker], version)
}

// until is the event behind which all steps are pushed.
func (o *ordered) until(pushed map[*event][]step, left map[int][]step) int {
	until := max(o.applied, o.last)
	for i, e := range o.events {
		if len(pushed[e]) > 0 {
			until = max(until, i+1)
		}
	}
	for _, steps := range left {
		if len(steps) > 0 {
			return len(o.events)
		}
	}
	return until
}

// units are the gradients that a worker hands over, by worker: of each step, or of k.
func (o *ordered) units(m *model) map[int][]step {
	l := m.l
	every, units, open := max(1, l.Strategy.GradientMerge.KSteps), map[int][]step{}, map[int][]*gradient{}
	for _, s := range o.steps {
		open[s.worker] = append(open[s.worker], s.gradient)
		if len(open[s.worker]) == every || s.last {
			s.gradient = merged(open[s.worker], l.Strategy.GradientMerge.Sum)
			m.work[s.worker].bad += s.guarded(l.Strategy.NotFinite)
			units[s.worker], open[s.worker] = append(units[s.worker], s), nil
		}
	}
	return units
}

// applyPush makes the update of a push, of one gradient or of several that travelled together, the last of a step.
func (s *state) applyPush(l Leg, together []*gradient, last step, o *owed) {
	names, rules := append(s.p.Net.variables(), tableNames(s.p.Net)...), l.Rules
	rules.By = map[string]Rule{}
	for _, name := range names {
		rule := l.Rules.Of(name)
		if l.limits(name) {
			rule.Max = 0
		}
		rules.By[name] = rule
	}
	mean, sum := merged(together, false), merged(together, true)
	for _, name := range names {
		if l.merge(name) == strategy.MergeSum {
			mean.take(sum, name)
		}
	}
	s.narrow(mean, l.Strategy.Payload, o)
	last.gradient = mean
	s.compensate(last, l.Strategy.DelayCompensation) // what servers do, to what has travelled
	s.applyClipped(rules, mean, nil)
}

// compensate makes the gradient of a step what it would be, by a first guess, at the weights that the servers have
// come to.
func (s *state) compensate(u step, lambda float64) {
	if lambda == 0 {
		return
	}
	for _, name := range s.p.Net.variables() {
		g, w, read := u.dense[name], s.vars[name].w, u.read.vars[name]
		for i := range g {
			g[i] += lambda * g[i] * g[i] * (w[i] - read[i])
		}
	}
}

// limits says whether workers clip each gradient of a param by value, since servers add them up.
func (l Leg) limits(name string) bool {
	return l.merge(name) == strategy.MergeSum && l.Rules.Of(name).Kind == "sgd"
}

// limit clips the gradient of a param by value; 0 is no limit.
func (g *gradient) limit(name string, most float64) {
	parts := append(slices.Collect(maps.Values(g.rows[name])), g.dense[name])
	for _, x := range parts {
		for i := range x {
			if most > 0 {
				x[i] = math.Max(-most, math.Min(most, x[i]))
			}
		}
	}
}

// merge is how gradients of a param that travel together become one.
func (l Leg) merge(name string) strategy.Merge {
	rule := l.Rules.Of(name)
	switch {
	case l.Strategy.Merge != "":
		return l.Strategy.Merge
	case l.kind() == string(strategy.ModeAsync) && rule.Kind == "sgd":
		return strategy.MergeSum
	}
	return strategy.MergeMean
}

func tableNames(n Net) (names []string) {
	for _, t := range n.tables() {
		names = append(names, t.Name)
	}
	return names
}

func (g *gradient) take(from *gradient, name string) {
	if x, ok := from.dense[name]; ok {
		g.dense[name] = x
	}
	if rows, ok := from.rows[name]; ok {
		g.rows[name] = rows
	}
}

// check notes what a step should have read: of all that it may have read the nearest.
func (o *ordered) check(m *model, s *step) {
	window := o.seen.windows[s.at]
	from := max(o.met, o.promised(m.l, s))
	if m.l.Strategy.IndependentRecvThread {
		o.checkTorn(m, s, from, window[1])
	} else {
		var got []float64
		numbers := func(v *state) (w []float64) {
			for _, name := range m.p.Net.variables() {
				if !m.l.foreseen(name) {
					w = append(w, v.vars[name].w...)
				}
			}
			return w
		}
		for _, name := range m.p.Net.variables() {
			if !m.l.foreseen(name) {
				got = append(got, o.seen.of[s.at+" reads "+name]...)
			}
		}
		at := m.pick(s.at+" dense", from, window[1], got, numbers)
		for _, name := range m.p.Net.variables() {
			w := o.versions[at].vars[name].w
			if m.l.foreseen(name) {
				w = s.read.vars[name]
			}
			m.saw.see(w, "%s reads %s", s.at, name)
		}
	}
	var got []float64
	o.eachRow(m, s, o.versions[0], func(name string, _ []float64) { got = append(got, o.seen.of[name]...) })
	at := m.pick(s.at+" rows", from, window[1], got, func(v *state) (all []float64) {
		o.eachRow(m, s, v, func(_ string, w []float64) { all = append(all, w...) })
		return all
	})
	o.eachRow(m, s, o.versions[at], func(name string, w []float64) { m.saw.see(w, "%s", name) })
}

// checkTorn is check for dense weights that come by themselves, beside training: a step may begin when those of one
// server have come.
func (o *ordered) checkTorn(m *model, s *step, from, to int) {
	for _, name := range m.p.Net.variables() {
		w := make([]float64, m.p.Net.size(name))
		for i := range w {
			if w[i] = s.read.vars[name][i]; m.l.foreseen(name) {
				continue
			}
			got := []float64{o.seen.at(s.at+" reads "+name, i)}
			at := m.pick(fmt.Sprintf("%s %s %d", s.at, name, i), from, to, got,
				func(v *state) []float64 { return v.vars[name].w[i : i+1] })
			w[i] = o.versions[at].vars[name].w[i]
		}
		m.saw.see(w, "%s reads %s", s.at, name)
	}
}

// eachRow are the rows of a step as a version has them.
func (o *ordered) eachRow(m *model, s *step, v *state, do func(name string, w []float64)) {
	for _, t := range m.p.Net.tables() {
		for _, id := range slices.Sorted(maps.Keys(s.rows[t.Name])) {
			w := v.trains(t, id)
			do(fmt.Sprintf("%s reads %s row %d", s.at, t.Name, id), w)
		}
	}
}

// promised is the version from which on a step may read: what its own worker has pushed is in it, but for what may be
// on its way, and in ssp what others have pushed that must not be further behind.
func (o *ordered) promised(l Leg, s *step) (version int) {
	late := l.late(len(s.rows) > 0)
	own := 0
	for _, v := range o.own[s.worker] {
		if v <= o.seen.windows[s.at][0] {
			own++
		}
	}
	if own-late-1 >= 0 {
		version = o.own[s.worker][own-late-1]
	}
	if l.kind() != string(strategy.ModeSSP) {
		return version
	}
	every := max(1, l.Strategy.GradientMerge.KSteps)
	behind := s.number/every - l.Strategy.Staleness // pushes that every other has to have made
	for w, versions := range o.came[s.epoch] {
		if n := min(behind, len(versions)); w != s.worker && n > 0 {
			version = max(version, versions[n-1])
		}
	}
	return version
}

// foreseen says whether steps may have a variable as momentum will have moved it: of it is only judged what comes of
// gradients that were computed there.
func (l Leg) foreseen(name string) bool {
	inert := !slices.Contains([]string{"sgd", "adagrad", "decayed", "adadelta", "ftrl"}, l.Rules.Of(name).Kind)
	s := l.Strategy
	return inert && !s.NoForesight && s.DelayCompensation == 0 && (l.Workers > 1 || s.LookAhead)
}

// late is how many of its own pushes a step may miss: with rows and no option that has pushes wait none, and without
// bound where dense weights come by themselves.
func (l Leg) late(rows bool) int {
	s := l.Strategy.WithDefaults()
	waits := s.SendQueueSize > 1 || s.ThreadPoolSize > 1 || s.MaxMergeVarNum > 1 || s.LookAhead ||
		s.MinSendGradNumBeforeRecv > 1 || !rows
	switch {
	case l.kind() != string(strategy.ModeAsync):
		return 0
	case s.IndependentRecvThread:
		return math.MaxInt / 2
	case waits:
		return (s.SendQueueSize+s.ThreadPoolSize)*s.MaxMergeVarNum + s.MinSendGradNumBeforeRecv
	}
	return 0
}

// checkLook notes what an evaluation should have seen.
func (o *ordered) checkLook(m *model, name string) {
	window, got := o.seen.windows[name], o.seen.of[name]
	see := func(v *state) []float64 { return m.p.predict(v, o.averages[name], o.samples[name]) }
	at := m.pick(name, window[0], window[1], got, see)
	m.saw.see(see(o.versions[at]), "%s", name)
}
