package session

import (
	"slices"

	"github.com/gofleet/gofleet/internal/exchange"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
)

// fetched are rows by embedding that a step needs, asked for when it begins or before, after so many of the worker's
// meetings. They are of no use behind another meeting: rows may have become others, or be gone.
type fetched struct {
	rows []exchange.Rows
	met  int64
}

// newFetched has room for rows, and none yet.
func newFetched(w *Worker) fetched {
	return fetched{rows: newPull(w)}
}

// newPull has room for the rows of a step, and of those beside. It has two places for each embedding, in the layout's
// order.
func newPull(w *Worker) []exchange.Rows { return make([]exchange.Rows, 2*len(w.Layout.Embeddings)) }

// reads is what a step has at a place of a pull: the rows of an embedding, and behind all of them those beside.
func reads(st *optimizer.Step, at int) *optimizer.Rows {
	switch n := len(st.Rows); {
	case at < n:
		return &st.Rows[at]
	case at-n < len(st.Beside):
		return &st.Beside[at-n]
	}
	return &none
}

var none optimizer.Rows // is read alone

// want readies room for the rows of ids. ids says which of a step's ids: its own, or the next batch's.
func (f *fetched) want(w *Worker, st *optimizer.Step, ids func(*optimizer.Rows) []uint64) {
	f.met = w.meetings.Load()
	for at := range f.rows {
		f.rows[at].Want(ids(reads(st, at)), st.Rows[at%len(st.Rows)].Param.Dim())
	}
}

// are says whether the prefetched rows are this step's rows.
func (f *fetched) are(w *Worker, st *optimizer.Step) bool {
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

// give copies the rows into a step. are must have said yes.
func (f *fetched) give(st *optimizer.Step) {
	for at := range f.rows {
		copy(reads(st, at).W, f.rows[at].W)
	}
}

// idsOf and nextOf are which ids of a step are wanted: its own, or the ones of the batch behind it.
func idsOf(r *optimizer.Rows) []uint64 { return r.IDs }

func nextOf(r *optimizer.Rows) []uint64 { return r.Next }

// knowsNext says that the ids of the step after st are known, if it has rows. An evaluation has no step after it.
func knowsNext(st *optimizer.Step) bool {
	for e := range st.Rows {
		if st.Rows[e].Next == nil {
			return false
		}
	}
	return !st.Eval
}

// opOf is how a step's rows are asked for: an evaluation brings none to life.
func opOf(st *optimizer.Step) wire.Op {
	if st.Eval {
		return wire.OpPeek
	}
	return wire.OpStep
}

// own are a step's own rows, whose weights arrive where the step wants them. to has a place for each that reads gives.
func own(to []exchange.Rows, st *optimizer.Step) []exchange.Rows {
	for at := range to {
		r := reads(st, at)
		to[at] = exchange.Rows{IDs: r.IDs, W: r.W}
	}
	return to
}
