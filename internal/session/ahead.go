package session

import (
	"slices"

	"github.com/gofleet/gofleet/internal/exchange"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
)

// fetched are rows by embedding that a step needs, asked for when it begins or before, after so many of the worker's
// meetings.
type fetched struct {
	rows []exchange.Rows
	met  int64
}

func newFetched(w *Worker) fetched {
	return fetched{rows: make([]exchange.Rows, len(w.Layout.Embeddings))}
}

// want readies room for the rows of ids.
func (f *fetched) want(w *Worker, st *optimizer.Step, ids func(*optimizer.Rows) []uint64) {
	f.met = w.meetings.Load()
	for e := range st.Rows {
		f.rows[e].Want(ids(&st.Rows[e]), st.Rows[e].Param.Dim())
	}
}

// are says whether the prefetched rows are this step's rows.
func (f *fetched) are(w *Worker, st *optimizer.Step) bool {
	if st.Eval || f.met != w.meetings.Load() {
		return false
	}
	for e := range st.Rows {
		if !slices.Equal(f.rows[e].IDs, st.Rows[e].IDs) {
			return false
		}
	}
	return true
}

// give copies the rows into a step.
func (f *fetched) give(st *optimizer.Step) {
	for e := range st.Rows {
		copy(st.Rows[e].W, f.rows[e].W)
	}
}

func idsOf(r *optimizer.Rows) []uint64 { return r.IDs }

func nextOf(r *optimizer.Rows) []uint64 { return r.Next }

// knowsNext says that the ids of the step after st are known, if it has rows.
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

// own are a step's own rows, whose weights arrive where the step wants them.
func own(to []exchange.Rows, st *optimizer.Step) []exchange.Rows {
	for e := range st.Rows {
		to[e] = exchange.Rows{IDs: st.Rows[e].IDs, W: st.Rows[e].W}
	}
	return to
}
