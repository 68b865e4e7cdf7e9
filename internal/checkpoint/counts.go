package checkpoint

import (
	"maps"
	"slices"

	"github.com/gofleet/gofleet/internal/safetensors"
	"github.com/gofleet/gofleet/internal/table"
)

// A table whose entry policy counts pushes keeps more than rows: the ids that wait, and under ShowClick the shows and
// clicks of every row. They are separate tensors, left out if empty.

// waiters holds ids that wait, as columns of a file.
type waiters struct {
	ids          []uint64
	pushes, seen []uint32
	show, click  []float32
}

func writeWaiters(w *safetensors.Writer, t tableInfo, from *table.TableImage, rows table.Changes) error {
	if len(rows.Forgotten) > 0 {
		if err := safetensors.Put(w, t.forgotten(), rows.Forgotten); err != nil {
			return err
		}
	}
	var c waiters
	for ids := range slices.Chunk(rows.Waiters, rowsAtOnce) {
		c = waiters{pushes: c.pushes[:0], seen: c.seen[:0], show: c.show[:0], click: c.click[:0]}
		for _, id := range ids {
			is := from.Waiter(id)
			c.pushes, c.seen = append(c.pushes, is.Pushes), append(c.seen, is.Seen)
			c.show, c.click = append(c.show, is.Show), append(c.click, is.Click)
		}
		if err := c.columns(t).write(w); err != nil { // before the last ids, which the columns follow in the file
			return err
		}
		if err := safetensors.Put(w, t.waiting(), ids); err != nil {
			return err
		}
	}
	return nil
}

// waiters reads the ids that wait and that this process owns, and merges them into those of the base.
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
	var c waiters
	for at := 0; at < t.Waiting; at += rowsAtOnce {
		n := min(rowsAtOnce, t.Waiting-at)
		c.ids = room(c.ids, n)
		err := safetensors.ReadAt(f, t.waiting(), c.ids, at)
		if err == nil {
			err = c.columns(t).read(f, at, n)
		}
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

// await puts the ids that wait into their tables when all rows are loaded; an id that has a row does not wait. It goes
// by ascending id, so that tables which drop some are the same for any number of parts.
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
