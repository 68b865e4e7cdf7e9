package session

import (
	"slices"

	"github.com/gofleet/gofleet/internal/exchange"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
)

// fetched are the rows that a step needs, by embedding, requested when it begins or earlier; met is the number of the
// worker's meetings then. They are invalid after another meeting: rows may have changed, or be gone.
type fetched struct {
	rows []exchange.Rows
	met  int64
}

// newFetched has memory for rows, and none yet.
func newFetched(w *Worker) fetched {
	return fetched{rows: newPull(w)}
}

// newPull makes memory for the rows of a step, and for those that it reads beside: two places for each embedding, in
// the layout's order.
func newPull(w *Worker) []exchange.Rows { return make([]exchange.Rows, 2*len(w.Layout.Embeddings)) }

// reads returns what a step has at a place of a pull: first the rows of each embedding, then the rows beside.
func reads(st *optimizer.Step, at int) *optimizer.Rows {
	switch n := len(st.Rows); {
	case at < n:
		return &st.Rows[at]
	case at-n < len(st.Beside):
		return &st.Beside[at-n]
	}
	return &none
}

var none optimizer.Rows // read only

// want makes room for the rows of ids. ids selects which of a step's ids: its own, or the next batch's.
func (f *fetched) want(w *Worker, st *optimizer.Step, ids func(*optimizer.Rows) []uint64) {
	f.met = w.meetings.Load()
	for at := range f.rows {
		f.rows[at].Want(ids(reads(st, at)), st.Rows[at%len(st.Rows)].Param.Dim())
	}
}

// match reports whether the prefetched rows are this step's rows.
func (f *fetched) match(w *Worker, st *optimizer.Step) bool {
	if st.Eval || f.met != w.meetings.Load() {
		return false
	}
	for at := range f.rows {
		if !slices.Equal(f.rows[at].IDs, reads(st, at).IDs) {
			return false
		}
	}
	return true
}

// give copies the rows into a step. match must have returned true.
func (f *fetched) give(st *optimizer.Step) {
	for at := range f.rows {
		copy(reads(st, at).W, f.rows[at].W)
	}
}

// idsOf and nextOf select ids of a step: its own, or those of the next batch.
func idsOf(r *optimizer.Rows) []uint64 { return r.IDs }

func nextOf(r *optimizer.Rows) []uint64 { return r.Next }

// knowsNext reports that the ids of the step after st are known, if it has rows. An evaluation has no next step.
func knowsNext(st *optimizer.Step) bool {
	for e := range st.Rows {
		if st.Rows[e].Next == nil {
			return false
		}
	}
	return !st.Eval
}

// opOf is the op that reads a step's rows: that of an evaluation creates none.
func opOf(st *optimizer.Step) wire.Op {
	if st.Eval {
		return wire.OpPeek
	}
	return wire.OpStep
}

// own fills to with a step's own rows, whose weights arrive in the step. to has a place for each that reads returns.
func own(to []exchange.Rows, st *optimizer.Step) []exchange.Rows {
	for at := range to {
		r := reads(st, at)
		to[at] = exchange.Rows{IDs: r.IDs, W: r.W}
	}
	return to
}
