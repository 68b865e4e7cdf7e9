package mode

import (
	"slices"
	"sync"

	"github.com/gofleet/gofleet/optimizer"
)

// Geo is training on the workers: each trains a copy of the model with its own gradient descent, and every k steps sends the
// servers what it has changed, divided by the number N of workers, and takes over what all have changed.
//
// With d what a worker has changed and not sent, an exchange sends Δ = d/N, keeps d−Δ, and on receiving the servers' value P
// sets the weight to P+d. That is the original's
//
//	Δ = (latest − old)/N;  old += Δ;  P += Δ at the server;  δ = P − old;  latest += δ;  old = P
//
// since latest − old is d throughout. What is left of d goes with later exchanges, so that without further training the
// servers come to the first weights plus the sum of what the workers have changed.

// GeoRule is the worker's half: a rule that also keeps what it has changed. Its state is d.
type GeoRule struct{ optimizer.Rule }

// Unwrap implements [optimizer.Wrapper].
func (r GeoRule) Unwrap() optimizer.Rule { return r.Rule }

// StateLen implements [optimizer.Rule].
func (r GeoRule) StateLen(n int) int { return n }

// Update implements [optimizer.Rule]. Plain gradient descent changes d by as much as w. With decay and the like it still goes
// element by element, so it may go piece by piece.
func (r GeoRule) Update(w, g, d []float32, s *optimizer.State) {
	if plain, ok := r.Rule.(optimizer.SGD); ok {
		plain.Update(w, g, nil, s)
		plain.Update(d[:len(w)], g, nil, s)
		return
	}
	var before [256]float32
	for len(w) > 0 {
		n := copy(before[:], w)
		r.Rule.Update(w[:n], g[:n], nil, s)
		for i, v := range w[:n] {
			d[i] += v - before[i]
		}
		w, g, d = w[n:], g[n:], d[n:]
	}
}

// Take sets delta to a share of d, which is left with the rest: d/n. It says whether something is left.
func Take(delta, d []float32, n int) (left bool) {
	if n == 1 {
		copy(delta, d)
		clear(d)
		return false
	}
	for i, v := range d {
		delta[i] = v / float32(n)
		d[i] = v - delta[i]
		left = left || d[i] != 0
	}
	return left
}

// Receive sets w to the servers' value p and what is not sent yet.
func Receive(w, d, p []float32) {
	for i, v := range p {
		w[i] = v + d[i]
	}
}

// Sum is the rule of the server's half: what workers push is added. It has the name of the rule that they train with, so that
// checkpoints of one mode can be loaded in another.
type Sum struct{ Of string }

// Name implements [optimizer.Rule].
func (s Sum) Name() string { return s.Of }

// StateLen implements [optimizer.Rule].
func (Sum) StateLen(int) int { return 0 }

// Update implements [optimizer.Rule].
func (Sum) Update(w, g, _ []float32, _ *optimizer.State) {
	for i, v := range g[:len(w)] {
		w[i] += v
	}
}

// Recorder knows, on a server, which rows have changed since a worker last asked: those of any worker's push, its own too.
// What an answer has brought is forgotten when the next request shows that it arrived; a repeated request is answered anew.
type Recorder struct {
	mu     sync.Mutex
	step   uint64 // of the request that is being answered
	tables []recorded
}

// recorded is what a recorder knows of a table.
type recorded struct {
	fresh   IDs
	waiting []uint64 // ascending; taken out of fresh, for the next answers
	pending []uint64 // ascending; in the answer to the request of that step
	asked   bool     // by that request
}

// NewRecorder is a recorder for that many tables.
func NewRecorder(tables int) *Recorder { return &Recorder{tables: make([]recorded, tables)} }

// Note takes note that rows of a table have changed.
func (r *Recorder) Note(table int, ids []uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tables[table].fresh.Add(ids...)
}

// Ask returns ids of a table, ascending, at most that many, that have changed before a request of that step number, and says
// whether there are more. A request that was overtaken by a later one gets nothing.
func (r *Recorder) Ask(step uint64, table, most int) (ids []uint64, more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if step < r.step {
		return nil, false
	}
	if step > r.step {
		r.step = step
		for i := range r.tables {
			r.tables[i].arrived()
		}
	}
	t := &r.tables[table]
	if !t.asked {
		t.answer(most)
	}
	return slices.Clone(t.pending), len(t.waiting) > 0 || t.fresh.Len() > 0
}

// arrived forgets what the last answer has brought.
func (t *recorded) arrived() { t.pending, t.asked = t.pending[:0], false }

// answer makes at most that many ids pending.
func (t *recorded) answer(most int) {
	if len(t.waiting) < most && t.fresh.Len() > 0 {
		t.waiting = t.fresh.Take(t.waiting)
	}
	n := min(most, len(t.waiting))
	t.pending, t.asked = append(t.pending[:0], t.waiting[:n]...), true
	t.waiting = append(t.waiting[:0], t.waiting[n:]...)
}
