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

// waiting keeps count of ids that have no row yet. It forgets ids that were not pushed for long: ids live in two
// generations, a push brings an id into the young one, and when that is large the old one is forgotten and the young
// one is the old. So an id is forgotten only after half the limit of others were pushed since, and no list of ages is
// kept.
type waiting struct {
	young, old map[uint64]waiter
	// of a table that is tracked, set when more is forgotten than is worth to be known one by one; else nil
	tracked   *atomic.Bool
	forgotten []uint64 // by age, since changes were last taken
	image     *waitingImage
}

// waitingImage is what an image knows of the ids that wait in a shard: the changed ones, as they
// were.
type waitingImage struct {
	kept map[uint64]waiter
	gone []map[uint64]waiter // generations that were forgotten since; of the ones kept after them an id is in the first
}

// keep keeps what is known of an id that is about to change, where an image wants it.
func (w *waiting) keep(id uint64) {
	if w.image == nil {
		return
	}
	if _, has := w.image.kept[id]; !has {
		w.image.kept[id] = w.was(id)
	}
}

// was is what was known of an id when the image was made.
func (w *waiting) was(id uint64) waiter {
	if is, has := w.image.kept[id]; has {
		return is
	}
	for _, generation := range w.image.gone {
		if is, has := generation[id]; has {
			return is
		}
	}
	return w.get(id)
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
	w.keep(id)
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
		if w.image != nil {
			w.image.gone = append(w.image.gone, w.old)
		}
		w.old, w.young = w.young, nil
	}
	if w.young == nil {
		w.young = map[uint64]waiter{}
	}
}

// forgets takes note of ids that don't wait any more, in a table that is tracked: of no more than take as much memory
// as the ids that may wait. Where no checkpoint can be saved they would pile up; the next one is whole then.
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
	w.keep(id)
	delete(w.young, id)
	delete(w.old, id)
}

// clear forgets all ids; an image keeps them.
func (w *waiting) clear() {
	if w.image != nil {
		w.image.gone = append(w.image.gone, w.old, w.young)
	}
	*w = waiting{tracked: w.tracked, image: w.image}
}

// len is how many ids wait.
func (w *waiting) len() int { return len(w.young) + len(w.old) }

func (w *waiting) bytes() int { return w.len() * waiterBytes }

// each calls do with every id that waits; the id is forgotten if do says so.
func (w *waiting) each(do func(id uint64, is *waiter) (forget bool)) {
	var is waiter // one for all that do sees
	for _, generation := range []map[uint64]waiter{w.old, w.young} {
		for id, before := range generation {
			is = before
			switch {
			case do(id, &is):
				w.keep(id)
				delete(generation, id)
			case is != before:
				w.keep(id)
				generation[id] = is
			}
		}
	}
}
