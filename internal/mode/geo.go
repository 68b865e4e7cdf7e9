package mode

import (
	"slices"
	"sync"

	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/optimizer"
)

// Geo is training on the workers: each trains a copy of the model with its own gradient descent, and every k steps
// sends the servers what it has changed, divided by the number N of workers, and takes over what all have changed.
//
// Of each weight that it has changed a worker keeps the old value, which the servers had after the last exchange. With
// P the servers' value, an exchange is
//
//	Δ = (latest − old)/N;  old += Δ;  P += Δ at the server;  latest = P + (latest − old);  old = P
//
// What is left of latest − old goes with later exchanges, so that without further training the servers come to the
// first weights plus the sum of what the workers have changed. Where no other worker has pushed, old + Δ is the
// server's P bit for bit, so that a worker need not be told of what it alone has changed.

// Take sets delta to the n-th part of what has changed since old, which it moves on by as much. It says whether
// something is left.
func Take(delta, latest, old []float32, n int) (left bool) {
	if n == 1 {
		takeAll(delta, latest, old)
		return false
	}
	for i, was := range old {
		delta[i] = (latest[i] - was) / float32(n)
		old[i] = was + delta[i]
		left = left || old[i] != latest[i]
	}
	return left
}

// takeAll leaves nothing, not even what rounding takes: latest becomes what the servers come to.
func takeAll(delta, latest, old []float32) {
	for i, was := range old {
		delta[i] = latest[i] - was
		old[i] = was + delta[i]
		latest[i] = old[i]
	}
}

// Receive takes over the servers' value p, and keeps what is not sent yet.
func Receive(latest, old, p []float32) {
	for i, v := range p {
		latest[i] = v + (latest[i] - old[i])
		old[i] = v
	}
}

// Sum is the rule of the server's half: what workers push is added. It has the name of the rule that they train with,
// so that checkpoints of one mode can be loaded in another.
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

// Changes is a set of rows of one table.
type Changes interface {
	// Take appends the ids of the rows to dst, each once, and empties the set.
	Take(dst []uint64) []uint64
	// All fills the set with all rows that there are.
	All()
}

// Recorder answers a worker that asks a server which rows have changed since it last asked. What an answer has brought
// is forgotten when the next request shows that it arrived; a repeated request is answered anew. The first answer says
// that it begins with all rows, and so does each behind [Recorder.Anew].
type Recorder struct {
	mu     sync.Mutex
	step   uint64 // of the request that is being answered
	tables []recorded
	sorter kernels.Uniquer
}

// recorded is what a recorder knows of a table.
type recorded struct {
	fresh   Changes
	waiting []uint64 // ascending; taken out of fresh, for the next answers
	pending []uint64 // ascending; in the answer to the request of that step
	asked   bool     // by that request
	anew    bool     // the next answer begins with all rows
	all     bool     // the pending one does
}

// NewRecorder is a recorder of what has changed in tables: all that they have, to begin with.
func NewRecorder(tables ...Changes) *Recorder {
	r := new(Recorder)
	for _, t := range tables {
		r.tables = append(r.tables, recorded{fresh: t, anew: true})
	}
	return r
}

// Anew says that rows of a table are gone, or all are others: the worker is to have all that there are.
func (r *Recorder) Anew(table int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := &r.tables[table]
	t.fresh.All()
	t.waiting, t.anew = t.waiting[:0], true
}

// Answer are ids of a table, ascending.
type Answer struct {
	IDs []uint64
	// All says that they are, with those of the answers that follow, all rows. More says that some are left for these.
	All, More bool
}

// Ask returns ids of a table, at most that many, that have changed before a request of that step number. A request that
// was overtaken by a later one gets nothing.
func (r *Recorder) Ask(step uint64, table, most int) Answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	if step < r.step {
		return Answer{}
	}
	if step > r.step {
		r.step = step
		for i := range r.tables {
			r.tables[i].arrived()
		}
	}
	t := &r.tables[table]
	if !t.asked {
		t.answer(most, &r.sorter)
	}
	return Answer{slices.Clone(t.pending), t.all, t.anew || len(t.waiting) > 0}
}

// arrived forgets what the last answer has brought.
func (t *recorded) arrived() { t.pending, t.asked = t.pending[:0], false }

// answer makes at most that many ids pending.
func (t *recorded) answer(most int, sorter *kernels.Uniquer) {
	if len(t.waiting) <= most {
		all := t.fresh.Take(t.waiting)
		kernels.SortIDs(all, sorter)
		t.waiting = slices.Compact(all)
	}
	t.all, t.anew = t.anew, false
	n := min(most, len(t.waiting))
	t.pending, t.asked = append(t.pending[:0], t.waiting[:n]...), true
	t.waiting = append(t.waiting[:0], t.waiting[n:]...)
}
