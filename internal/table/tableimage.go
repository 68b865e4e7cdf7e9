package table

import (
	"iter"
	"slices"
	"sync"
)

// TableImage is a sparse table in an image.
type TableImage struct {
	Table *Sparse
	Clock uint32
	// Gone are ids, in no particular order, of rows that were dropped, and that a model for serving has.
	Gone []uint64

	step    int64
	waiters []uint64
	ordered sync.Once // they, and the changed ones
	once    sync.Once
	ids     []uint64
	// changes are known where the image takes them: of rows when ids are.
	taking  bool
	took    bool // it has
	taken   sync.Once
	changes Changes
}

func newTableImage(t *Sparse, step int64, how imaging) *TableImage {
	m := &TableImage{Table: t, Clock: t.clock.Load(), step: step, taking: how.taking}
	if how.taking {
		t.remade.Store(false)
	}
	if t.counts {
		m.waiters = make([]uint64, 0, t.Stats().Waiting)
	}
	all := how.taking // waiters had changed, so far: then one list is enough
	for i := range t.shards {
		s := &t.shards[i]
		s.Lock()
		s.image = newShardImage(&s.arena, how.alone && !t.sweeps)
		m.Gone = append(m.Gone, s.gone...)
		all = m.listWaiters(s, all)
		s.waiting.image = &waitingImage{kept: map[uint64]waiter{}}
		s.Unlock()
	}
	if all {
		m.changes.Waiters = m.waiters
	}
	return m
}

// order sorts the ids that wait, which are listed while pushes are held and sorted when they are asked for.
func (m *TableImage) order() {
	m.ordered.Do(func() {
		slices.Sort(m.waiters)
		if len(m.changes.Waiters) < len(m.waiters) { // else the list is the same
			slices.Sort(m.changes.Waiters)
		}
	})
}

// listWaiters lists the ids that wait in a shard, and takes the changed ones, as all before had where all says
// so. Locked.
func (m *TableImage) listWaiters(s *shard, all bool) bool {
	s.waiting.each(func(id uint64, w *waiter) bool {
		if taken := m.taking && w.seen&changed != 0; taken {
			if w.seen &^= changed; !all {
				m.changes.Waiters = append(m.changes.Waiters, id)
			}
		} else if all {
			all, m.changes.Waiters = false, slices.Clone(m.waiters)
		}
		m.waiters = append(m.waiters, id)
		return false
	})
	if m.taking {
		m.changes.Forgotten = append(m.changes.Forgotten, s.waiting.forgotten...)
		s.waiting.forgotten = nil
	}
	return all
}

// close ends the image. What it has taken stays for who asks for that.
func (m *TableImage) close() {
	if m.ids, m.waiters = nil, nil; m.Table.sweeps {
		m.changes.Rows = nil // the next image has all rows in any case
	}
	for i := range m.Table.shards {
		s := &m.Table.shards[i]
		s.Lock()
		s.image, s.waiting.image = nil, nil
		s.Unlock()
	}
}

// Waiters are the ids that waited for a row, ascending. The slice is the image's.
func (m *TableImage) Waiters() []uint64 {
	m.order()
	return m.waiters
}

// Waiter is what was known of an id that waited.
func (m *TableImage) Waiter(id uint64) Waiter {
	s, _ := m.Table.shardOf(id)
	s.Lock()
	defer s.Unlock()
	is := s.waiting.was(id)
	return is.waiter(id)
}

// IDs are the ids of all rows, ascending. The slice is the image's. It is asked for before rows are read, and not of an
// image that has changes alone, unless its rule sweeps.
func (m *TableImage) IDs() []uint64 {
	m.once.Do(func() {
		m.ids = make([]uint64, 0, m.Table.Len())
		took := m.took
		all := m.taking && !took // rows had changed, so far: then one list is enough
		m.list(func(id uint64, taken bool) {
			if all && !taken {
				all, m.changes.Rows = false, append(make([]uint64, 0, cap(m.ids)/2+len(m.ids)), m.ids...)
			}
			if taken && !all {
				m.changes.Rows = append(m.changes.Rows, id)
			}
			m.ids = append(m.ids, id)
		})
		if m.ids = settled(m.ids); all {
			m.changes.Rows = m.ids
		} else if !took {
			m.changes.Rows = settled(m.changes.Rows)
		}
	})
	return m.ids
}

// list looks at all rows of the image, and takes the changed ones.
func (m *TableImage) list(each func(id uint64, taken bool)) {
	for i := range m.Table.shards {
		m.Table.shards[i].listImage(m, each)
	}
	m.took = m.taking
}

// settled are ids ascending, each once: a row that was dropped may have come again.
func settled(ids []uint64) []uint64 { return slices.Compact(sorted(ids)) }

// Changes are what had changed, in an image that takes that; of a rule that sweeps all rows, since each moves with
// every update.
func (m *TableImage) Changes() Changes {
	m.order()
	m.taken.Do(func() {
		if m.took {
			return
		}
		changed := 0
		for i := range m.Table.shards {
			changed += m.Table.shards[i].changed()
		}
		m.changes.Rows = slices.Grow(m.changes.Rows, changed)
		m.list(func(id uint64, taken bool) {
			if taken {
				m.changes.Rows = append(m.changes.Rows, id)
			}
		})
		m.changes.Rows = settled(m.changes.Rows)
	})
	if m.Table.sweeps {
		m.changes.Rows = m.IDs()
	}
	return m.changes
}

// Rows yields all rows by ascending id, once, some at a time. While some are used the next are read; they are valid
// until then.
func (m *TableImage) Rows() iter.Seq[*Columns] { return m.RowsOf(m.IDs()) }

// RowsOf is Rows of these ids, which ascend and are the image's.
func (m *TableImage) RowsOf(ids []uint64) iter.Seq[*Columns] {
	return func(yield func(*Columns) bool) {
		t := m.Table
		free, full, over := make(chan *Columns, 2), make(chan *Columns, 2), make(chan struct{})
		defer func() {
			close(over)
			for range full { // the image is not read any more when this returns
			}
		}()
		for range 2 {
			free <- t.newColumns(min(batch, len(ids)))
		}
		go func() {
			defer close(full)
			for ids := range slices.Chunk(ids, batch) {
				select {
				case c := <-free:
					t.read(ids, c, m.step, readImage)
					full <- c
				case <-over:
					return
				}
			}
		}()
		for c := range full {
			if !yield(c) {
				return
			}
			free <- c
		}
	}
}

// mark takes note of a row, or its copy, that had changed when the image was made. A row that is changed after it has
// another mark than its copy, which stays.
func (m *TableImage) mark(h *header) (taken bool) {
	if !m.taking || h.seen&changed == 0 {
		return false
	}
	h.seen &^= changed
	return true
}
