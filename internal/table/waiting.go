package table

import (
	"iter"
	"maps"
	"slices"
	"sync/atomic"
)

// waiter is what is known of an id that waits for a row.
type waiter struct {
	marks
	pushes uint32
	seen   uint32 // the table's clock at the last push, and whether the waiter has changed
}

// waiting keeps count of ids that have no row yet. It forgets those that were not pushed for long: ids live in two
// generations, a push brings an id into the young one, and when that is large the old one is forgotten and the young one is
// the old. So an id is forgotten only after half the limit of others were pushed since, and no list of ages is kept.
type waiting struct {
	young, old map[uint64]waiter
	tracked    *atomic.Bool // of a table that is tracked, set when more is forgotten than is worth to be known one by one; else nil
	forgotten  []uint64     // by age, since changes were last taken
}

// waiterBytes is what an id that waits takes in a Go map at its emptiest.
const waiterBytes = 57

func (w *waiting) get(id uint64) waiter {
	if got, ok := w.young[id]; ok {
		return got
	}
	return w.old[id]
}

// put notes an id. No more than limit of them wait.
func (w *waiting) put(id uint64, is waiter, limit int) {
	if _, known := w.young[id]; !known {
		delete(w.old, id)
		w.age(limit)
	}
	w.young[id] = is
}

// age makes room in the young generation for one more.
func (w *waiting) age(limit int) {
	if len(w.young) >= max(limit/2, 1) {
		w.forgets(maps.Keys(w.old), limit)
		w.old, w.young = w.young, nil
	}
	if w.young == nil {
		w.young = map[uint64]waiter{}
	}
}

// forgets takes note of ids that don't wait any more, in a table that is tracked: of no more than take as much memory as those that may
// wait. Where no checkpoint can be saved they would pile up; the next one is whole then.
func (w *waiting) forgets(ids iter.Seq[uint64], limit int) {
	if w.tracked == nil || w.tracked.Load() {
		return
	}
	if w.forgotten = slices.AppendSeq(w.forgotten, ids); len(w.forgotten) > max(limit, 8)*waiterBytes/8 {
		w.forgotten = nil
		w.tracked.Store(true)
	}
}

func (w *waiting) forget(id uint64) {
	delete(w.young, id)
	delete(w.old, id)
}

// len is how many ids wait.
func (w *waiting) len() int { return len(w.young) + len(w.old) }

func (w *waiting) bytes() int { return w.len() * waiterBytes }

// each calls do with every id that waits; those it says so of are forgotten.
func (w *waiting) each(do func(id uint64, is *waiter) (forget bool)) {
	for _, generation := range []map[uint64]waiter{w.old, w.young} {
		for id, is := range generation {
			before := is
			switch {
			case do(id, &is):
				delete(generation, id)
			case is != before:
				generation[id] = is
			}
		}
	}
}
