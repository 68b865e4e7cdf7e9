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

	step    int64
	waiters []Waiter
	once    sync.Once
	ids     []uint64
}

func (t *Sparse) image(step int64) *TableImage {
	m := &TableImage{Table: t, Clock: t.clock.Load(), step: step}
	for i := range t.shards {
		s := &t.shards[i]
		s.Lock()
		s.image = &shardImage{kept: map[uint64]uint32{}, copies: newArena(t.stride, wholeChunks)}
		m.waiters = s.appendWaiters(m.waiters)
		s.Unlock()
	}
	return m
}

func (m *TableImage) close() {
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

// IDs are the ids of all rows, ascending. The slice is the image's.
func (m *TableImage) IDs() []uint64 {
	m.once.Do(func() {
		for i := range m.Table.shards {
			m.ids = m.Table.shards[i].appendImage(m.ids)
		}
		slices.Sort(m.ids)
		m.ids = slices.Compact(m.ids) // a row that was dropped may have come again
	})
	return m.ids
}

// Rows yields all rows by ascending id, once, some at a time: these, and the weights and the state of each, one row after the other, as one
// slice. While some are used the next are read; they are valid until then.
func (m *TableImage) Rows() iter.Seq2[[]Row, []float32] {
	return func(yield func([]Row, []float32) bool) {
		t := m.Table
		free, full, over := make(chan *batchOf, 2), make(chan *batchOf, 2), make(chan struct{})
		defer func() {
			close(over)
			for range full { // the image is not read any more when this returns
			}
		}()
		for range 2 {
			b := t.newBatch()
			free <- &b
		}
		go func() {
			defer close(full)
			for ids := range slices.Chunk(m.IDs(), batch) {
				select {
				case b := <-free:
					t.read(ids, b, m.step, (*Sparse).readImage)
					full <- b
				case <-over:
					return
				}
			}
		}()
		for b := range full {
			if !yield(b.rows, b.floats) {
				return
			}
			free <- b
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

// appendImage appends the ids of the rows that the image has.
func (s *shard) appendImage(ids []uint64) []uint64 {
	more := true
	for from := uint32(0); more; from += 1 << s.arena.shift {
		ids, more = s.appendChunk(ids, from)
	}
	s.Lock()
	defer s.Unlock()
	return append(ids, s.image.dropped...)
}

// appendChunk appends those of the chunk that begins with row from, and says whether there are more. A shard's lock is held for one chunk
// at a time: rows that are born meanwhile are known to be.
func (s *shard) appendChunk(ids []uint64, from uint32) (all []uint64, more bool) {
	s.Lock()
	defer s.Unlock()
	end := min(from+1<<s.arena.shift, s.arena.rows)
	for row := from; row < end; row++ {
		h := s.arena.at(row)
		if h.step == isFree {
			continue
		}
		if copied, kept := s.image.kept[h.id]; !kept || copied != 0 {
			ids = append(ids, h.id)
		}
	}
	return ids, end < s.arena.rows
}

// readImage is a [blockFunc] that reads rows of the image, of a call whose ids ascend and are all above those of calls before it.
func (t *Sparse) readImage(s *shard, c *call, b *block) {
	m := s.image
	m.read, m.last = true, c.largest // the lock is held until all of the call are read
	for i, it := range b.items {
		h, copied := b.rows[i], m.kept[it.id]
		if copied != 0 {
			h = m.copies.at(copied - 1)
		}
		c.out[it.at] = t.readOut(c, it, h)
		if copied != 0 {
			delete(m.kept, it.id)
			m.copies.drop(copied-1, h)
		}
	}
}

// wholeChunks is a size beyond which an arena has whole chunks.
const wholeChunks = 1 << 30
