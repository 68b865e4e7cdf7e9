package twin

import (
	"fmt"
	"math"

	"github.com/gofleet/gofleet/strategy"
)

// drifts says whether workers train copies of their own, which meet from time to time.
func (l Leg) drifts() bool {
	return l.kind() == "collective" && (l.Strategy.LocalSGD != strategy.LocalSGD{} ||
		l.Strategy.AdaptiveLocalSGD != strategy.AdaptiveLocalSGD{})
}

// pace is what adaptive workers have learnt: how many steps lie between two meetings, and the rate and the loss of the
// first; zero before that.
type pace struct {
	k        int
	lr, loss float64
}

// drifter is a worker's copy, and when it meets the others.
type drifter struct {
	*state
	steps, last, k int // steps that it made, how many at the last meeting, and how many may lie between
	loss           float64
}

// drift makes the steps of an epoch, each worker on a copy, which all become their mean behind so many steps and when
// all have ended.
func (m *model) drift(at string, c Call) {
	s := m.l.Strategy.WithDefaults()
	begin, first := s.LocalSGD.BeginStep, s.LocalSGD.KSteps
	if s.AdaptiveLocalSGD.InitKSteps > 0 {
		begin, first = s.AdaptiveLocalSGD.BeginStep, s.AdaptiveLocalSGD.InitKSteps
	}
	if m.drifters == nil {
		for range m.l.Workers {
			d := &drifter{state: m.now.clone(), steps: m.now.steps, last: m.now.steps, k: first}
			if s.AdaptiveLocalSGD.InitKSteps > 0 && d.pace.k > 0 {
				d.k = d.pace.k
			}
			m.drifters = append(m.drifters, d)
		}
	}
	next := make([]int, len(c.Batches))
	for ended := 0; ended < m.l.Workers; {
		var looks []func()
		ended = 0
		before := m.made()
		for w, d := range m.drifters {
			meets := false
			for !meets && next[w] < len(c.Batches[w]) {
				step := next[w]
				name := fmt.Sprintf("%s worker %d step %d", at, w, step)
				batch := c.Batches[w][step]
				g, y := m.p.batch(training{d.state}, batch, m.kept(name), m.noise)
				d.loss = m.p.loss(batch, y)
				m.now.roughen(g)
				m.saw.see(y, "%s trains on", name)
				m.moves(w, batch)
				d.state.apply(m.l.Rules, g, nil)
				m.pushed(w, g)
				next[w], d.steps = step+1, d.steps+1
				look := func() { m.looks(at, c, w, step, d.state) }
				if meets = d.steps <= begin || d.steps-d.last >= d.k; meets {
					looks = append(looks, look)
				} else {
					look()
				}
			}
			if !meets {
				ended++
			}
		}
		m.mean(func(s *slot) []float64 { return s.w })
		var loss, made float64
		for _, d := range m.drifters {
			if d.steps > d.last {
				loss, made = loss+d.loss, made+1
			}
		}
		if ended == m.l.Workers { // all go on with what the first has learnt
			for _, d := range m.drifters {
				d.steps, d.pace, d.k = m.drifters[0].steps, m.drifters[0].pace, m.drifters[0].k
			}
		}
		for _, d := range m.drifters {
			d.factor = m.now.factor
			switch d.last = d.steps; {
			case m.made() == before: // nobody has made a step since
			case s.AdaptiveLocalSGD.InitKSteps == 0:
				d.pace = pace{}
			case d.steps > 0:
				d.learn(m.l.Rules.All.rate(d.steps, d.factor), loss/made, first)
			}
		}
		for _, look := range looks {
			look()
		}
	}
	m.mean(func(s *slot) []float64 { return s.a })
	for _, d := range m.drifters[1:] {
		d.state.steps = m.drifters[0].state.steps
	}
	for _, d := range m.drifters {
		d.steps, d.last = d.state.steps, d.state.steps
	}
	m.now = m.drifters[0].clone()
}

// made is how many steps all workers have made.
func (m *model) made() (n int64) {
	for _, w := range m.work {
		n += w.steps
	}
	return n
}

// learn is how many steps lie between meetings from now on.
func (d *drifter) learn(lr, loss float64, first int) {
	if d.pace.k == 0 {
		d.pace = pace{lr: lr, loss: loss}
	}
	d.k = int(math.Max(1, math.Min(16, math.Ceil(math.Sqrt(d.pace.lr*loss/(lr*d.pace.loss)*float64(first))))))
	d.pace.k = d.k
}

// mean makes numbers of all copies their mean.
func (m *model) mean(of func(*slot) []float64) {
	for _, name := range m.p.Net.variables() {
		sum := make([]float64, m.p.Net.size(name))
		for _, d := range m.drifters {
			for i, x := range of(d.vars[name]) {
				sum[i] += x / float64(m.l.Workers)
			}
		}
		for _, d := range m.drifters {
			copy(of(d.vars[name]), sum)
			m.now.round(of(d.vars[name]))
		}
	}
}

// loss is that of a batch by its predictions.
func (p Program) loss(batch []int, y []float64) (mean float64) {
	for k, i := range batch {
		off := y[k] - float64(p.example(i).label)
		mean += off * off / float64(len(batch))
	}
	return mean
}
