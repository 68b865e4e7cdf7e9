package twin

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/gofleet/gofleet/strategy"
)

// Sights are what somebody sees of a job, by name.
type Sights struct {
	of    map[string][]float64
	order []string // the names as they came
}

// see notes numbers.
func (s *Sights) see(values []float64, format string, args ...any) {
	name := fmt.Sprintf(format, args...)
	if s.of == nil {
		s.of = map[string][]float64{}
	}
	if _, twice := s.of[name]; !twice {
		s.order = append(s.order, name)
	}
	s.of[name] = copied(values)
}

// Model plays a program in the twin, in the orders that were seen. Noise is the seed of what rounding might do; 0 is
// none. What a play without noise has picked is in picks, and the others pick it too.
func (p Program) Model(seen Seen, noise uint64, picks *picks) Sights {
	m := &model{p: &p, dirs: map[string]*state{}, seen: seen, picks: picks, number: int(noise),
		signs: &signs{taken: picks.taken}}
	if picks.noted {
		m.signs.seen = map[string]float64{}
	}
	defer func() { picks.signs = append(picks.signs, m.signs) }()
	if noise > 0 {
		m.noise = rand.New(rand.NewPCG(p.Seed, noise))
	}
	for i, l := range p.Legs {
		m.leg(i, l)
	}
	return m.saw
}

// model is a program in the middle of a play.
type model struct {
	p     *Program
	saw   Sights
	dirs  map[string]*state
	noise *rand.Rand
	seen  Seen
	picks *picks
	signs *signs
	// number is 0 for the play without noise, else that of a copy
	number, meetings int

	o    *ordered // nil in legs of rounds
	ends bool     // all calls of the leg are made
	l    Leg
	now  *state
	work []work // of each worker
	// sent are the steps, of all workers whose copies nobody follows, that servers were told of when all met.
	sent  int
	debts []debts // of each worker

	averages []average  // of each worker, of batch norm
	rests    []rest     // of each worker, in a leg whose exchanges keep them
	drifters []*drifter // of a leg in which copies meet seldom
}

func (m *model) leg(i int, l Leg) {
	m.ends, m.signs.leg = false, i
	m.l, m.now, m.work = l, newState(m.p, m.noise, m.signs), make([]work, l.Workers)
	m.debts, m.drifters, m.rests = make([]debts, l.Workers), nil, nil
	m.averages, m.sent = nil, 0
	for range l.Workers {
		m.averages = append(m.averages, average{moments: m.p.Net.firstMoments()})
		m.rests = append(m.rests, rest{map[int]float64{}, map[int]bool{}, 0})
	}
	if l.From.Dir != "" {
		m.load(l.From.Dir, l.From.Only, l.From.WeightsOnly)
	}
	if m.o = nil; l.ordered() {
		m.o = &ordered{events: m.seen.orders[i], seen: m.seen, samples: map[string][]int{},
			own:      map[int][]int{},
			averages: map[string]moments{}, came: map[string]map[int][]int{}, versions: []*state{m.now.clone()}}
	}
	for _, c := range l.Calls {
		m.call(c.At, c)
	}
	m.ends = true
	m.meet()
	m.average()
	m.weights(l.End)
	if l.tells() {
		m.saw.see([]float64{m.now.factor}, "%s rate", l.End)
	}
	for w := range l.Workers {
		m.saw.see([]float64{l.examples(w)}, "%s worker %d trains examples", l.End, w)
	}
	if l.copies() {
		return
	}
	for w, n := range m.work {
		m.saw.see([]float64{float64(n.steps)}, "%s worker %d steps", l.End, w)
		m.saw.see([]float64{float64(n.rows)}, "%s worker %d pushes rows", l.End, w)
		m.saw.see([]float64{float64(n.bad)}, "%s worker %d guards", l.End, w)
		if l.known() { // by the one server, and none is stale
			m.saw.see([]float64{float64(n.steps), 0}, "%s worker %d counts pushes", l.End, w)
		}
	}
	now := m.now
	for _, t := range m.p.Net.tables() {
		n := now.counts[t.Name]
		held := []float64{float64(len(now.rows[t.Name])), float64(len(now.waiting[t.Name])), float64(n.dropped),
			float64(n.born), float64(n.kept)}
		if l.returns() {
			held = held[:2]
		}
		if l.Servers > 0 {
			m.saw.see(held, "%s servers hold of %s", l.End, t.Name)
			continue
		}
		for w := range l.Workers {
			m.saw.see(held, "%s worker %d holds of %s", l.End, w, t.Name)
		}
	}
}

// tells says whether all workers know the factor on rates at a leg's end: ranks do when it counts.
func (l Leg) tells() bool { return l.kind() != "collective" }

// examples is how many a worker trains in a leg.
func (l Leg) examples(worker int) (n float64) {
	for _, c := range l.Calls {
		if c.Do == train {
			for _, batch := range c.Batches[worker] {
				n += float64(len(batch))
			}
		}
	}
	return n
}

// work is what a worker has pushed, of how many rows, and what of it was not finite.
type work struct{ steps, rows, bad int64 }

// pushed counts a push of a worker.
func (m *model) pushed(worker int, g *gradient) {
	m.work[worker].steps++
	for _, rows := range g.rows {
		m.work[worker].rows += int64(len(rows))
	}
}

// meet is what happens before calls that all make together.
func (m *model) meet() {
	if m.o != nil {
		m.o.meet(m)
	}
}

func (m *model) call(at string, c Call) {
	if c.Do != train && c.Do != look && c.Do != reopen {
		m.meet()
		m.average()
		defer m.changed()
	}
	switch c.Do {
	case train:
		m.train(at, c)
	case look:
		for w := range m.l.Workers {
			m.look(fmt.Sprintf("%s worker %d", at, w), w, c.Samples, m.now)
		}
	case rate:
		m.now.factor = c.Factor // behind a barrier: from the first update of the next epoch
		for _, d := range m.drifters {
			d.factor = c.Factor
		}
	case shrink:
		freed := m.now.shrink(c)
		for _, t := range m.p.Net.tables() {
			if m.l.blind() && t.Name != ledgerName {
				continue
			}
			m.saw.see([]float64{float64(freed[t.Name])}, "%s dropped of %s", at, t.Name)
		}
	case save, batch:
		m.dirs[c.Dir] = m.now.clone()
		m.dirs[c.Dir].moments = m.averages[0].clone()
		if m.saved(at); c.Do == batch {
			m.now.shrink(c)
		}
	case load:
		m.load(c.Dir, c.Only, false)
	case publish:
		all := m.now
		if c.Mode == "base" {
			var left int
			m.now, left = all.serving(c)
			m.serves(at, left)
		}
		m.weights(at)
		m.now = all
		if c.Mode == "" {
			published := m.now.clone()
			published.model, published.moments = true, m.averages[0].clone()
			m.dirs[c.model()] = published
		}
	}
}

// changed is what happens behind them.
func (m *model) changed() {
	if m.o != nil {
		m.o.versions[len(m.o.versions)-1] = m.now.clone()
	}
}

func (m *model) load(dir string, only []string, weightsOnly bool) {
	m.now.load(m.dirs[dir], only, weightsOnly)
	m.begin(m.dirs[dir].moments, only)
	if m.l.Servers > 0 { // which don't keep how often copies meet
		m.now.pace = pace{}
	}
}

func (m *model) look(at string, worker int, samples []int, now *state) {
	if m.l.blind() {
		return
	}
	by := m.averages[worker].clone()
	if m.o != nil {
		m.o.look(at, samples, by)
		return
	}
	m.saw.see(m.p.predict(now, by, samples), "%s sees", at)
}

// predict are the predictions of an evaluation, by weights and moving averages.
func (p Program) predict(now *state, by moments, samples []int) (y []float64) {
	for _, i := range samples {
		own, _, _ := p.Net.forward(evaluating{now}, p.example(i).normalised(by), nil, nil)
		y = append(y, own)
	}
	return y
}

// kept are the factors of dropout in a step, as it shows them: whatever they are, they are not of another step.
func (m *model) kept(step string) []float64 {
	if m.p.Net.Drop == 0 {
		return nil
	}
	kept := m.seen.of[step+" keeps"]
	m.saw.see(kept, "%s keeps", step)
	return kept
}

// weights are all of them, as a model that is saved has them, and what it predicts.
func (m *model) weights(at string) {
	now := m.now
	if !m.l.blind() {
		m.saw.see(m.p.predict(now, m.averages[0].moments, firstFew()), "%s predicts", at)
		for _, name := range m.p.Net.frozen() {
			m.saw.see(m.averages[0].moments[name], "%s %s", at, name)
		}
	}
	for _, name := range m.p.Net.variables() {
		if m.l.blind() {
			continue
		}
		m.saw.see(now.vars[name].w, "%s %s", at, name)
	}
	for _, t := range m.p.Net.tables() {
		if m.l.blind() && t.Name != ledgerName {
			continue
		}
		for _, id := range slices.Sorted(maps.Keys(now.rows[t.Name])) {
			m.saw.see(now.rows[t.Name][id].w, "%s %s row %d", at, t.Name, id)
		}
	}
}

// train makes the rounds of an epoch: each of one push of every worker that has batches left.
func (m *model) train(at string, c Call) {
	if m.o != nil {
		m.o.train(m, at, c)
		return
	}
	if m.l.blind() {
		m.count(c)
		return
	}
	if m.l.drifts() {
		m.drift(at, c)
		return
	}
	every := max(1, m.l.Strategy.GradientMerge.KSteps)
	next := make([]int, len(c.Batches))
	for {
		var pushes []push
		for w, steps := range c.Batches {
			var several []*gradient
			for len(several) < every && next[w] < len(steps) {
				step := next[w]
				name := fmt.Sprintf("%s worker %d step %d", at, w, step)
				g, y := m.p.batch(training{m.now}, steps[step], m.kept(name), m.noise)
				m.now.roughen(g)
				m.saw.see(y, "%s trains on", name)
				m.moves(w, steps[step])
				several, next[w] = append(several, g), next[w]+1
				if len(several) < every { // else the look is behind the update
					m.looks(at, c, w, step, m.now)
				}
			}
			if len(several) > 0 {
				g := merged(several, m.l.Strategy.GradientMerge.Sum)
				m.work[w].bad += g.guarded(m.l.Strategy.NotFinite)
				m.now.narrow(g, m.l.Strategy.Payload, m.owes(w, at))
				pushes = append(pushes, push{g, w})
				m.pushed(w, g)
			}
		}
		if len(pushes) == 0 {
			return
		}
		m.update(pushes)
		for _, p := range pushes {
			if next[p.worker]%every == 0 {
				m.looks(at, c, p.worker, next[p.worker]-1, m.now)
			}
			m.turn(c, p.worker, next[p.worker]-1)
		}
	}
}

// count counts the samples of an epoch in the ledger.
func (m *model) count(c Call) {
	if !m.p.Net.Ledger {
		return
	}
	keeps := m.l.Strategy.GeoRest == strategy.GeoRestKeep
	for w, steps := range c.Batches {
		k := &m.rests[w]
		for _, batch := range steps {
			if !keeps {
				m.sent++
			}
			for _, i := range batch {
				if !keeps {
					m.line(i, m.now.factor) // the rate of its rule is 1
					continue
				}
				k.of[i] += m.now.factor
				k.changed[i] = true
			}
			if k.steps++; k.steps < m.l.Strategy.KSteps {
				continue
			}
			for i := range k.changed {
				share := k.of[i] / float64(m.l.Workers)
				k.of[i] -= share
				m.line(i, share)
			}
			clear(k.changed)
			if keeps {
				m.sent += k.steps
			}
			k.steps = 0
		}
	}
}

// line adds to a row of the ledger.
func (m *model) line(sample int, share float64) {
	r := m.now.rows[ledgerName][uint64(sample)]
	if r == nil {
		r = &row{slot: newSlot(ledgerName, make([]float64, 1))}
		m.now.rows[ledgerName][uint64(sample)] = r
	}
	r.w[0] += share
	r.seen = m.now.clock
}

// rest is what exchanges of a worker have left of its lines in the ledger, which lines the next takes a share of, and
// how many steps lie behind the last.
type rest struct {
	of      map[int]float64
	changed map[int]bool
	steps   int
}

func (m *model) looks(at string, c Call, worker, step int, now *state) {
	for _, l := range c.Looks {
		if l.Worker == worker && l.Step == step {
			m.look(fmt.Sprintf("%s worker %d behind step %d", at, worker, step), worker, c.Batches[worker][step], now)
		}
	}
}

// update is that of a round.
func (m *model) update(pushes []push) {
	weighting := m.l.Strategy.Weighting
	if m.l.alone() {
		weighting = strategy.WeightSamples
	}
	g, had := folded(pushes, weighting)
	m.now.apply(m.l.Rules, g, had)
}
