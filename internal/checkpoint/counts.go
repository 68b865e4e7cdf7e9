package checkpoint

import (
	"maps"
	"slices"

	"github.com/gofleet/gofleet/internal/safetensors"
	"github.com/gofleet/gofleet/internal/table"
)

// A table that lets ids in by what pushes count keeps more than rows: the ids that wait, and with ShowClick every row's
// shows and clicks. They are tensors of their own, left out where there is nothing to tell.

// waiters are ids that wait, as they lie in a file.
type waiters struct {
	ids          []uint64
	pushes, seen []uint32
	show, click  []float32
}

func newWaiters(n int) waiters {
	return waiters{make([]uint64, n), make([]uint32, n), make([]uint32, n), make([]float32, n), make([]float32, n)}
}

func writeWaiters(w *safetensors.Writer, t tableInfo, from *table.TableImage, rows table.Changes) error {
	if len(rows.Forgotten) > 0 {
		if err := safetensors.Put(w, t.forgotten(), rows.Forgotten); err != nil {
			return err
		}
	}
	all := newWaiters(min(len(rows.Waiters), rowsAtOnce))
	for some := range slices.Chunk(rows.Waiters, rowsAtOnce) {
		n := len(some)
		c := waiters{all.ids[:n], all.pushes[:n], all.seen[:n], all.show[:n], all.click[:n]}
		for i, id := range some {
			is := from.Waiter(id)
			c.ids[i], c.pushes[i], c.seen[i], c.show[i], c.click[i] = is.ID, is.Pushes, is.Seen, is.Show, is.Click
		}
		if err := first(
			func() error { return safetensors.Later(w, t.waitingPushes(), c.pushes) },
			func() error { return safetensors.Later(w, t.waitingSeen(), c.seen) },
			func() error { return safetensors.Later(w, t.waitingShow(), c.show) },
			func() error { return safetensors.Later(w, t.waitingClick(), c.click) },
			func() error { return safetensors.Put(w, t.waitingIDs(), c.ids) },
		); err != nil {
			return err
		}
	}
	return nil
}

// waiters reads the ids that wait and that this process owns, over the ids of a checkpoint before.
func (l *loader) waiters(f *safetensors.File, t tableInfo, index int) error {
	if l.waiting == nil {
		l.waiting = map[int]map[uint64]table.Waiter{}
	}
	if l.waiting[index] == nil {
		l.waiting[index] = map[uint64]table.Waiter{}
	}
	for at := 0; at < t.Forgotten; at += rowsAtOnce {
		ids := make([]uint64, min(rowsAtOnce, t.Forgotten-at))
		if err := safetensors.ReadAt(f, t.forgotten(), ids, at); err != nil {
			return err
		}
		for _, id := range ids {
			delete(l.waiting[index], id)
		}
	}
	for at := 0; at < t.Waiting; at += rowsAtOnce {
		c := newWaiters(min(rowsAtOnce, t.Waiting-at))
		err := first(
			func() error { return safetensors.ReadAt(f, t.waitingIDs(), c.ids, at) },
			func() error { return safetensors.ReadAt(f, t.waitingPushes(), c.pushes, at) },
			func() error { return safetensors.ReadAt(f, t.waitingSeen(), c.seen, at) },
			func() error { return safetensors.ReadAt(f, t.waitingShow(), c.show, at) },
			func() error { return safetensors.ReadAt(f, t.waitingClick(), c.click, at) },
		)
		if err != nil {
			return err
		}
		for i, id := range c.ids {
			if l.owns(index, id) {
				l.waiting[index][id] = table.Waiter{ID: id, Pushes: c.pushes[i], Seen: c.seen[i], Show: c.show[i],
					Click: c.click[i]}
			}
		}
	}
	return nil
}

// await puts back the ids that wait, when all rows are there: an id that has one waits no more. They come by id, so
// that tables which forget some are the same however many parts they came from.
func (l *loader) await() error {
	for index, waiting := range l.waiting {
		for _, id := range slices.Sorted(maps.Keys(waiting)) {
			if err := (table.Filler{Table: l.store.Tables[index]}).Waiter(waiting[id]); err != nil {
				return err
			}
		}
	}
	return nil
}
