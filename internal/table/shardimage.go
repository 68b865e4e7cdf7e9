package table

// shardImage is an image's record of a shard, guarded by the shard's lock.
type shardImage struct {
	other rowBits // rows that have changed
	// by number of such a row, in pieces: the number of its copy plus one, or one of the two constants below
	kept   [][]uint32
	gone   map[uint64]uint32 // copies of rows that were dropped, as numbers in copies plus one, by id
	copies arena
	read   bool   // some rows were read, by ascending id
	last   uint64 // rows with this id or a smaller one were read

	alone  bool    // it has only rows that had changed
	listed uint32  // rows with smaller numbers were checked for that
	taken  rowBits // those of them that had changed
}

const (
	asItWas = 0         // the row is unchanged, or was read
	younger = 1<<32 - 1 // the image does not have the row
)

const (
	keptShift = 10 // log2 of the rows in a piece of kept
	copyShift = 7  // log2 of the rows in a chunk of copies
)

func newShardImage(a *arena, alone bool) *shardImage {
	return &shardImage{alone: alone, kept: make([][]uint32, a.rows>>keptShift+1), gone: map[uint64]uint32{},
		copies: arena{shift: copyShift, stride: a.stride}}
}

// of returns what is kept of a row.
func (m *shardImage) of(row uint32) uint32 {
	if !m.other.has(row) {
		return asItWas
	}
	return m.kept[row>>keptShift][row&(1<<keptShift-1)]
}

func (m *shardImage) set(row, kept uint32) {
	piece := int(row >> keptShift)
	for piece >= len(m.kept) {
		m.kept = append(m.kept, nil)
	}
	if m.kept[piece] == nil {
		m.kept[piece] = make([]uint32, 1<<keptShift)
	}
	m.kept[piece][row&(1<<keptShift-1)] = kept
	m.other.set(row)
}

// keep copies the rows of a block that are about to change. It does nothing if there is no image.
func (m *shardImage) keep(k *kind, b *block) {
	if m == nil {
		return
	}
	for i, h := range b.rows[:len(b.items)] {
		if h != nil {
			m.keepRow(k, b.numbers[i], h)
		}
	}
}

func (m *shardImage) keepRow(k *kind, row uint32, h *header) {
	if m == nil || m.read && h.id <= m.last || m.of(row) != asItWas {
		return
	}
	if !m.has(row, h) {
		m.set(row, younger) // it changes now, and its changed bit with it
		return
	}
	number, copied := m.copies.add()
	copy(k.floats(copied), k.floats(h))
	m.set(row, number+1)
}

// has reports whether the image has a row that is unchanged.
func (m *shardImage) has(row uint32, h *header) bool {
	switch {
	case !m.alone:
		return true
	case row < m.listed:
		return m.taken.has(row)
	}
	return h.seen&changed != 0
}

// born notes a row that is new, or was created again.
func (m *shardImage) born(row uint32) {
	if m != nil {
		m.set(row, younger)
	}
}

// drop copies a row that is about to be dropped.
func (m *shardImage) drop(k *kind, row uint32, h *header) {
	if m == nil {
		return
	}
	m.keepRow(k, row, h)
	if kept := m.of(row); kept != asItWas && kept != younger {
		m.gone[h.id] = kept
	}
}

// copyOf returns the number of the copy, plus one, of a row in the image, and removes the copy from the record; 0 if
// there is none. has reports whether the table has a row of that id, and row is its number.
func (m *shardImage) copyOf(id uint64, row uint32, has bool) uint32 {
	kept := uint32(younger)
	if has {
		kept = m.of(row)
	}
	switch kept {
	case asItWas:
	case younger: // it may have been dropped, and created again
		kept = m.gone[id]
		delete(m.gone, id)
	default:
		m.set(row, asItWas)
	}
	return kept
}

// listImage calls each with the ids of the rows in the image.
func (s *shard) listImage(m *TableImage, each func(id uint64, taken bool)) {
	more := true
	for from := uint32(0); more; from += 1 << s.arena.shift {
		more = s.listChunk(m, from, each)
	}
	s.Lock()
	defer s.Unlock()
	for id, kept := range s.image.gone {
		each(id, m.mark(s.image.copies.at(kept-1)))
	}
}

// listChunk is listImage for the chunk that begins with row from, and reports whether there are more. The shard's lock
// is held for one chunk at a time: rows that are created meanwhile are recorded.
func (s *shard) listChunk(m *TableImage, from uint32, each func(id uint64, taken bool)) (more bool) {
	s.Lock()
	defer s.Unlock()
	end := min(from+1<<s.arena.shift, s.arena.rows)
	for row := from; row < end; row++ {
		h := s.arena.at(row)
		if h.step == isFree {
			continue
		}
		switch kept := s.image.of(row); kept {
		case asItWas:
		case younger:
			continue
		default:
			h = s.image.copies.at(kept - 1)
		}
		taken := m.mark(h)
		if taken && s.image.alone {
			s.image.taken.set(row)
		}
		each(h.id, taken)
	}
	s.image.listed = end
	return end < s.arena.rows
}

// changed is about the number of rows that have changed, since some may change meanwhile.
func (s *shard) changed() (n int) {
	s.Lock()
	defer s.Unlock()
	for row := range s.arena.rows {
		if h := s.arena.at(row); h.step != isFree && h.seen&changed != 0 {
			n++
		}
	}
	return n
}

// readImage is a [blockFunc] that reads rows of the image. The ids of a call ascend, and all are above the ids of
// earlier calls.
func readImage(t *Sparse, s *shard, c *call, b *block) {
	m := s.image
	m.read, m.last = true, c.largest // the lock is held until all rows of the call are read
	for i, it := range b.items {
		h := b.rows[i]
		copied := m.copyOf(it.id, b.numbers[i], h != nil)
		if copied != 0 {
			h = m.copies.at(copied - 1)
		}
		t.readOut(c, it, h)
		if copied != 0 {
			m.copies.drop(copied-1, h)
		}
	}
}
