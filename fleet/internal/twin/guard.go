package twin

import (
	"maps"
	"math"
	"slices"

	"github.com/gofleet/gofleet/strategy"
)

// guarded is what a worker pushes of a gradient that is not finite: a row stays away, and the gradient of a variable is
// zero; or what is not a number is zero. It says how many rows and variables are not finite.
func (g *gradient) guarded(how strategy.NotFinite) (bad int64) {
	for _, x := range g.dense {
		if !finite(x) {
			bad++
			if how == strategy.NotFiniteSkip {
				clear(x)
			}
			zeroNaN(x)
		}
	}
	for table, rows := range g.rows {
		for id, x := range rows {
			if finite(x) {
				continue
			}
			bad++
			if how == strategy.NotFiniteSkip {
				delete(rows, id)
				delete(g.marks[table], id)
			}
			zeroNaN(x)
		}
	}
	return bad
}

func finite(x []float64) bool { return !slices.ContainsFunc(x, math.IsNaN) }

func zeroNaN(x []float64) {
	for i := range x {
		if math.IsNaN(x[i]) {
			x[i] = 0
		}
	}
}

// owed is what narrow payloads have taken from a sender's gradients, by param, or by table and id.
type owed struct {
	dense map[string][]float64
	rows  map[string]map[uint64][]float64
}

// debts are what a worker's senders owe, of an epoch.
type debts struct {
	of    []owed
	epoch string
}

// owes is what the sender of a worker's next push owes. Nothing says which of several senders takes a push, nor whether
// their session was the epoch's before: each copy of the twin draws that.
func (m *model) owes(worker int, epoch string) *owed {
	d, senders, s := &m.debts[worker], 1, m.l.Strategy.WithDefaults()
	queues := s.SendQueueSize > 1 || s.ThreadPoolSize > 1 || s.MaxMergeVarNum > 1
	if queues && m.l.kind() == string(strategy.ModeAsync) {
		senders += s.ThreadPoolSize
	}
	begins := d.epoch != epoch && (m.noise == nil || often(m.noise, 2))
	if d.epoch = epoch; d.of == nil || begins {
		d.of = make([]owed, senders)
	}
	if m.noise == nil || senders == 1 {
		return &d.of[0]
	}
	return &d.of[m.noise.IntN(senders)]
}

// narrow is what a narrow payload may do to a push, for the copies of the twin that say what rounding does: about a
// unit of each number. What rounding takes comes with the worker's next push, unless its session ends: a clip, another
// rate or a lost unit of a long gradient then show in a short one.
func (s *state) narrow(g *gradient, as strategy.Payload, o *owed) {
	if s.noise == nil || as == "" || as == strategy.PayloadFloat32 {
		return
	}
	if o.dense == nil {
		*o = owed{map[string][]float64{}, map[string]map[uint64][]float64{}}
	}
	all := 0.0
	for _, name := range s.p.Net.variables() {
		g.dense[name] = plus(g.dense[name], o.dense[name])
		all = max(all, widest(g.dense[name]))
	}
	for _, name := range s.p.Net.variables() {
		g.dense[name], o.dense[name] = s.rounded(g.dense[name], all, as)
	}
	for _, t := range s.p.Net.tables() {
		rows := g.rows[t.Name]
		if o.rows[t.Name] == nil {
			o.rows[t.Name] = map[uint64][]float64{}
		}
		for _, id := range slices.Sorted(maps.Keys(rows)) {
			sum := plus(rows[id], o.rows[t.Name][id])
			rows[id], o.rows[t.Name][id] = s.rounded(sum, widest(sum), as)
		}
	}
}

// plus is the sum of two lists, of which the second may be missing.
func plus(x, y []float64) []float64 {
	x = copied(x)
	for i := range y {
		x[i] += y[i]
	}
	return x
}

// rounded is a list that is off by about a unit, and by how much.
func (s *state) rounded(x []float64, widest float64, as strategy.Payload) (sent, left []float64) {
	sent, left = copied(x), make([]float64, len(x))
	for i := range x {
		unit := map[strategy.Payload]float64{strategy.PayloadFloat16: 1e-7 + math.Abs(x[i])/(1<<11),
			strategy.PayloadBFloat16: math.Abs(x[i]) / (1 << 8), strategy.PayloadInt8: widest / 127}[as]
		left[i] = math.Copysign(unit*(0.5+s.noise.Float64()), s.noise.Float64()-0.5)
		sent[i] -= left[i]
	}
	return sent, left
}

// widest is the largest magnitude of a list.
func widest(x []float64) (most float64) {
	for _, v := range x {
		most = max(most, math.Abs(v))
	}
	return most
}

// narrow says whether some leg's gradients travel with fewer bits.
func (p Program) narrow() bool {
	return slices.ContainsFunc(p.Legs, func(l Leg) bool {
		return l.Strategy.Payload != "" && l.Strategy.Payload != strategy.PayloadFloat32
	})
}
