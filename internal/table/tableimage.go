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
	// Gone are ids, in no particular order, of dropped rows that a model for serving has.
	Gone []uint64

	step    int64
	waiters []uint64
	ordered sync.Once // waiters and changes.Waiters
	once    sync.Once
	ids     []uint64
	// changes are set if the image takes them; those of rows, when ids are listed.
	taking  bool
	took    bool // the rows' changes were taken
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
	all := how.taking // all waiters so far had changed: then one list is enough
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

// order sorts the waiting ids, which are listed while pushes are held and sorted when they are asked for.
func (m *TableImage) order() {
	m.ordered.Do(func() {
		slices.Sort(m.waiters)
		if len(m.changes.Waiters) < len(m.waiters) { // else the list is the same
			slices.Sort(m.changes.Waiters)
		}
	})
}

// listWaiters lists the ids that wait in a shard, and takes the changed ones; all reports that all so far had changed.
// The caller holds the shard's lock.
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
		m.changes.Dropped = append(m.changes.Dropped, s.dropped...)
		s.waiting.forgotten, s.dropped = nil, nil
	}
	return all
}

// close ends the image. The changes that it has taken stay.
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

// Waiters are the ids that waited for a row, ascending. The slice belongs to the image.
func (m *TableImage) Waiters() []uint64 {
	m.order()
	return m.waiters
}

// Waiter returns the counts of an id that waited.
func (m *TableImage) Waiter(id uint64) Waiter {
	s, _ := m.Table.shardOf(id)
	s.Lock()
	defer s.Unlock()
	is := s.waiting.was(id)
	return is.waiter(id)
}

// IDs are the ids of all rows, ascending. The slice belongs to the image. IDs is called before rows are read; it is not
// for an image of changes alone, unless the rule sweeps.
func (m *TableImage) IDs() []uint64 {
	m.once.Do(func() {
		m.ids = make([]uint64, 0, m.Table.Len())
		took := m.took
		all := m.taking && !took // all rows so far had changed: then one list is enough
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

// list lists all rows of the image, and takes the changed ones.
func (m *TableImage) list(each func(id uint64, taken bool)) {
	for i := range m.Table.shards {
		m.Table.shards[i].listImage(m, each)
	}
	m.took = m.taking
}

// settled sorts ids and removes duplicates: a dropped row may have been created again.
func settled(ids []uint64) []uint64 { return slices.Compact(sorted(ids)) }

// Changes are the changes in an image that takes them; with a rule that sweeps they are all rows, since each row moves
// with every update.
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

// Rows yields all rows by ascending id, once, some at a time. The next are read while the caller uses some; they are
// valid until then.
func (m *TableImage) Rows() iter.Seq[*Columns] { return m.RowsOf(m.IDs()) }

// RowsOf is Rows for these ids, which ascend and are in the image.
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

// mark takes the changed bit of a row, or of its copy. A row that changes after it was copied has a bit of its own.
func (m *TableImage) mark(h *header) (taken bool) {
	if !m.taking || h.seen&changed == 0 {
		return false
	}
	h.seen &^= changed
	return true
}
