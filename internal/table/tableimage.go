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
	waiters []Waiter
	once    sync.Once
	ids     []uint64
	// changes are known where the image takes them: those of rows when ids are.
	taking  bool
	taken   sync.Once
	changes Changes
}

func (t *Sparse) image(step int64, taking bool) *TableImage {
	m := &TableImage{Table: t, Clock: t.clock.Load(), step: step, taking: taking}
	if taking {
		t.remade.Store(false)
	}
	for i := range t.shards {
		s := &t.shards[i]
		s.Lock()
		s.image = &shardImage{kept: map[uint64]uint32{}, copies: newArena(t.stride, wholeChunks)}
		m.waiters = s.appendWaiters(m.waiters)
		m.Gone = append(m.Gone, s.gone...)
		if taking {
			s.takeWaiters(&m.changes)
		}
		s.Unlock()
	}
	return m
}

// close ends the image. What it has taken stays for who asks for that.
func (m *TableImage) close() {
	if m.ids, m.waiters = nil, nil; m.Table.sweeps {
		m.changes.Rows = nil // the next image has all rows in any case
	}
	for i := range m.Table.shards {
		s := &m.Table.shards[i]
		s.Lock()
		s.image = nil
		s.Unlock()
	}
}

// Waiters are the ids that waited for a row, ascending.
func (m *TableImage) Waiters() []Waiter {
	sortWaiters(m.waiters)
	return m.waiters
}

// IDs are the ids of all rows, ascending. The slice is the image's. It is asked for before rows are read.
func (m *TableImage) IDs() []uint64 {
	m.once.Do(func() {
		m.ids = make([]uint64, 0, m.Table.Len())
		m.list(func(id uint64) { m.ids = append(m.ids, id) })
		m.ids = settled(m.ids)
	})
	return m.ids
}

// list looks at all rows of the image, and takes those that had changed.
func (m *TableImage) list(each func(id uint64)) {
	for i := range m.Table.shards {
		m.Table.shards[i].listImage(m, each)
	}
	m.changes.Rows = settled(m.changes.Rows)
}

// settled are ids ascending, each once: a row that was dropped may have come again.
func settled(ids []uint64) []uint64 { return slices.Compact(sorted(ids)) }

// Changes are what had changed, in an image that takes that; of a rule that sweeps all rows, since each moves with every update.
func (m *TableImage) Changes() Changes {
	m.taken.Do(func() { m.list(func(uint64) {}) })
	if sortWaiters(m.changes.Waiters); m.Table.sweeps {
		m.changes.Rows = m.IDs()
	}
	return m.changes
}

// Taken is what Changes were, as far as they were asked for, when the image is closed: for GiveBack.
func (m *TableImage) Taken() Changes { return m.changes }

// Rows yields all rows by ascending id, once, some at a time. While some are used the next are read; they are valid until then.
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
					t.read(ids, c, m.step, (*Sparse).readImage)
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

// shardImage is what an image knows of a shard, guarded by the shard's lock.
type shardImage struct {
	kept    map[uint64]uint32 // the copy of a row, as its number in copies plus one; 0: the image does not have the row
	copies  arena
	dropped []uint64
	read    bool   // some rows were, by ascending id
	last    uint64 // those that were have this id or a smaller one
}

// keep copies the rows of a block that are about to change. It does nothing where there is no image.
func (m *shardImage) keep(t *Sparse, b *block) {
	if m == nil {
		return
	}
	for _, h := range b.rows[:len(b.items)] {
		if h != nil {
			m.keepRow(t, h)
		}
	}
}

func (m *shardImage) keepRow(t *Sparse, h *header) {
	if m == nil || m.read && h.id <= m.last {
		return
	}
	if _, kept := m.kept[h.id]; kept {
		return
	}
	row, copied := m.copies.add()
	copy(t.floats(copied), t.floats(h))
	m.kept[h.id] = row + 1
}

// born takes note of a row that is new, or has come again.
func (m *shardImage) born(id uint64) {
	if m == nil {
		return
	}
	if _, kept := m.kept[id]; !kept {
		m.kept[id] = 0
	}
}

// drop keeps a row that is about to go.
func (m *shardImage) drop(t *Sparse, h *header) {
	if m == nil {
		return
	}
	if m.keepRow(t, h); m.kept[h.id] != 0 {
		m.dropped = append(m.dropped, h.id)
	}
}

// listImage calls each with the ids of the rows that the image has.
func (s *shard) listImage(m *TableImage, each func(id uint64)) {
	more := true
	for from := uint32(0); more; from += 1 << s.arena.shift {
		more = s.listChunk(m, from, each)
	}
	s.Lock()
	defer s.Unlock()
	for _, id := range s.image.dropped {
		m.take(s.image.copies.at(s.image.kept[id] - 1))
		each(id)
	}
}

// take takes note of a row, or its copy, that had changed when the image was made. A row that is changed after it has another mark than its
// copy, which stays.
func (m *TableImage) take(h *header) {
	if m.taking && h.seen&changed != 0 {
		h.seen &^= changed
		m.changes.Rows = append(m.changes.Rows, h.id)
	}
}

// listChunk is listImage of the chunk that begins with row from, and says whether there are more. A shard's lock is held for one chunk at a
// time: rows that are born meanwhile are known to be.
func (s *shard) listChunk(m *TableImage, from uint32, each func(id uint64)) (more bool) {
	s.Lock()
	defer s.Unlock()
	end := min(from+1<<s.arena.shift, s.arena.rows)
	for row := from; row < end; row++ {
		h := s.arena.at(row)
		if h.step == isFree {
			continue
		}
		copied, kept := s.image.kept[h.id]
		if kept && copied == 0 {
			continue
		}
		if kept {
			h = s.image.copies.at(copied - 1)
		}
		m.take(h)
		each(h.id)
	}
	return end < s.arena.rows
}

// readImage is a [blockFunc] that reads rows of the image, of a call whose ids ascend and are all above those of calls before it.
func (t *Sparse) readImage(s *shard, c *call, b *block) {
	m := s.image
	m.read, m.last = true, c.largest // the lock is held until all of the call are read
	for i, it := range b.items {
		h, copied := b.rows[i], uint32(0)
		if len(m.kept) > 0 {
			copied = m.kept[it.id]
		}
		if copied != 0 {
			h = m.copies.at(copied - 1)
		}
		t.readOut(c, it, h)
		if copied != 0 {
			delete(m.kept, it.id)
			m.copies.drop(copied-1, h)
		}
	}
}

// wholeChunks is a size beyond which an arena has whole chunks.
const wholeChunks = 1 << 30
