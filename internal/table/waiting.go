package table

import (
	"iter"
	"slices"
	"sync/atomic"
)

// waiter has the counts of an id that waits for a row.
type waiter struct {
	marks
	pushes uint32
	seen   uint32 // the table's clock at the last push, and whether the waiter has changed
}

// waiting keeps the counts of ids that have no row yet. It drops ids that were not pushed for long: ids are in two
// generations, a push moves an id into the young one, and when that is large the old one is dropped and the young one
// becomes the old. So an id is dropped only after half the limit of other ids were pushed since, and no list of ages is
// kept.
type waiting struct {
	young, old waiterMap
	// tracked is nil unless the table is tracked; it is set when more ids are dropped than are recorded one by one
	tracked   *atomic.Bool
	forgotten []uint64 // dropped ids by age, since changes were last taken
	image     *waitingImage
}

// waitingImage is an image's record of the ids that wait in a shard: the counts of those that have changed.
type waitingImage struct {
	kept map[uint64]waiter
	gone []waiterMap // generations dropped since; of kept after them an id is in the first
}

// keep copies the counts of an id that is about to change, if an image needs them.
func (w *waiting) keep(id uint64) {
	if w.image == nil {
		return
	}
	if _, has := w.image.kept[id]; !has {
		w.image.kept[id] = w.was(id)
	}
}

// was returns the counts of an id when the image was made.
func (w *waiting) was(id uint64) waiter {
	if is, has := w.image.kept[id]; has {
		return is
	}
	for i := range w.image.gone {
		if is, has := w.image.gone[i].get(id); has {
			return is
		}
	}
	return w.get(id)
}

func (w *waiting) get(id uint64) waiter {
	is, has := w.young.get(id)
	if !has {
		is, _ = w.old.get(id)
	}
	return is
}

// put sets the counts of an id. No more than limit ids wait.
func (w *waiting) put(id uint64, is waiter, limit int) {
	w.keep(id)
	if w.young.replace(id, is) {
		return
	}
	w.old.remove(id)
	w.age(limit)
	w.young.insert(id, is)
}

// age makes room in the young generation for one more id.
func (w *waiting) age(limit int) {
	if w.young.len() < max(limit/2, 1) {
		return
	}
	w.forgets(w.old.ids(), limit)
	if w.image != nil {
		w.image.gone = append(w.image.gone, w.old)
	}
	w.old, w.young = w.young, waiterMap{}
}

// forgets records ids that no longer wait, in a tracked table, as long as they take no more memory than the ids that
// may wait. Without checkpoints they would accumulate; beyond that bound the next checkpoint has everything.
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
	w.young.remove(id)
	w.old.remove(id)
}

// clear drops all ids; an image keeps them.
func (w *waiting) clear() {
	if w.image != nil {
		w.image.gone = append(w.image.gone, w.old, w.young)
	}
	*w = waiting{tracked: w.tracked, image: w.image}
}

// len is the number of waiting ids.
func (w *waiting) len() int { return w.young.len() + w.old.len() }

// each calls do with every waiting id; an id is dropped if do returns true.
func (w *waiting) each(do func(id uint64, is *waiter) (forget bool)) {
	var is waiter // one for all calls of do
	for _, generation := range []*waiterMap{&w.old, &w.young} {
		for id, before := range generation.all() {
			is = before
			switch {
			case do(id, &is):
				w.keep(id)
				generation.remove(id)
			case is != before:
				w.keep(id)
				generation.replace(id, is)
			}
		}
	}
}
