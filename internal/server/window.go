package server

import "github.com/gofleet/gofleet/internal/wire"

// window remembers which steps of one life of a worker were seen, so that a push counts once however often it arrives. The
// worker says below which step it needs no answer any more; a bounded number of steps may be outstanding.
type window struct {
	acked uint64
	steps map[uint64]*stepState
	// last is the highest step that was applied.
	last uint64
}

type stepState struct {
	done    bool
	refusal error  // why it was refused, if it was
	rows    int    // of embeddings it had
	dropped int    // of them
	version uint64 // of the weights that it was applied to
}

// maxOutstanding is far above what a worker sends: a few for each of its threads.
const maxOutstanding = 4096

// enter returns the state of a step and whether it was seen before.
func (w *window) enter(step, acked uint64) (st *stepState, seen bool, err error) {
	if w.steps == nil {
		w.steps = make(map[uint64]*stepState)
	}
	w.forget(acked)
	if st := w.steps[step]; st != nil {
		return st, true, nil
	}
	if step < w.acked {
		return nil, false, wire.Refuse(wire.StatusStale, "step %d was acknowledged before (window begins at %d)", step, w.acked)
	}
	if len(w.steps) >= maxOutstanding {
		return nil, false, wire.Refuse(wire.StatusRefused, "%d steps are outstanding; a worker acknowledges what it has", len(w.steps))
	}
	st = new(stepState)
	w.steps[step] = st
	return st, false, nil
}

// knows says whether a step was seen, or acknowledged before that.
func (w *window) knows(step uint64) bool { return step < w.acked || w.steps[step] != nil }

// reached says whether every step up to that one is applied; steps of several threads overtake each other. A worker sends each of
// its steps to every server, so what is missing is on its way.
func (w *window) reached(step uint64) bool {
	if w.last < step {
		return false
	}
	for i := max(w.acked, 1); i <= step; i++ {
		if st := w.steps[i]; st == nil || !st.done {
			return false
		}
	}
	return true
}

// forget drops what the worker has acknowledged.
func (w *window) forget(acked uint64) {
	if acked <= w.acked {
		return
	}
	w.acked = acked
	for step, st := range w.steps {
		if step < acked && st.done {
			delete(w.steps, step)
		}
	}
}

// apply notes that the step is part of the weights, all but some of its rows: in a round of several workers these are
// counted for each of them, up to its own.
func (st *stepState) apply(rows, dropped int) {
	st.done, st.rows, st.dropped = true, rows, min(dropped, rows)
}

// refuse notes that the step never will be.
func (st *stepState) refuse(err error) { st.done, st.refusal = true, err }
