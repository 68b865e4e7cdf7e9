package mode

import (
	"slices"
	"sync"

	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/optimizer"
)

// Geo is training on the workers. Each worker trains a copy of the model by its own gradient descent. Every k steps it
// sends its changes, divided by the number N of workers, to the servers, and receives the changes of all workers.
//
// A worker keeps, for each weight that it has changed, the old value, which the servers had after the last exchange.
// With P the servers' value, an exchange is
//
//	Δ = (latest − old)/N;  old += Δ;  P += Δ at the server;  latest = P + (latest − old);  old = P
//
// The rest of latest − old goes with later exchanges, so that without further training the servers reach the first
// weights plus the sum of all workers' changes. If no other worker has pushed, old + Δ is the server's P bit for bit,
// so that a worker need not receive rows that only it has changed.

// Take sets delta to the n-th part of latest − old, and adds it to old. It reports whether a rest is left.
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

// takeAll leaves no rest, not even from rounding: latest becomes the value that the servers reach.
func takeAll(delta, latest, old []float32) {
	for i, was := range old {
		delta[i] = latest[i] - was
		old[i] = was + delta[i]
		latest[i] = old[i]
	}
}

// Receive sets old to the servers' value p, and latest to p plus what is not sent yet.
func Receive(latest, old, p []float32) {
	for i, v := range p {
		latest[i] = v + (latest[i] - old[i])
		old[i] = v
	}
}

// Sum is the update rule of the server's half: it adds what workers push. Its name is that of the rule that workers
// train with, so that checkpoints of one mode can be loaded in another.
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
	// All fills the set with all rows of the table.
	All()
}

// Recorder answers one worker's requests to a server for the rows that have changed since its last request. The
// recorder drops the rows of an answer when the next request shows that it arrived; a repeated request gets the same
// answer. The first answer says that it begins with all rows, and so does each after [Recorder.Anew].
type Recorder struct {
	mu     sync.Mutex
	step   uint64 // of the last request
	tables []recorded
	sorter kernels.Uniquer
}

// recorded is a recorder's state of a table.
type recorded struct {
	fresh   Changes
	waiting []uint64 // ascending; taken from fresh, for the next answers
	pending []uint64 // ascending; in the answer to request step
	asked   bool     // by request step
	anew    bool     // the next answer begins with all rows
	all     bool     // the pending answer begins with all rows
}

// NewRecorder returns a recorder of changes in tables, which begins with all their rows.
func NewRecorder(tables ...Changes) *Recorder {
	r := new(Recorder)
	for _, t := range tables {
		r.tables = append(r.tables, recorded{fresh: t, anew: true})
	}
	return r
}

// Anew records that rows of a table were dropped, or all were replaced: the worker gets all rows again.
func (r *Recorder) Anew(table int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := &r.tables[table]
	t.fresh.All()
	t.waiting, t.anew = t.waiting[:0], true
}

// Answer holds ids of a table, ascending.
type Answer struct {
	IDs []uint64
	// All says that these ids, with those of the answers that follow, are all rows. More says that more answers follow.
	All, More bool
}

// Ask returns at most most ids of a table that have changed before the request of that step number. A request that was
// overtaken by a later one gets none.
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

// arrived drops the ids of the last answer.
func (t *recorded) arrived() { t.pending, t.asked = t.pending[:0], false }

// answer moves at most most ids to pending.
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
