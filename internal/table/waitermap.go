package table

import (
	"iter"
	"math/bits"
	"unsafe"
)

// waiterMap has the counts of ids, at about 23 bytes each, and 8 more if they have marks. The zero value is empty.
//
// Waiters lie in chunks, without gaps: the last one takes the place of one that is removed. An index finds their
// numbers by hash, with linear probing; it grows by half, so that it is at least 58 % full.
type waiterMap struct {
	index  []uint32 // the number of a waiter, plus one; 0 is empty
	chunks []*waiterChunk
	n      int
}

// waiterChunk is a part of the waiters. Most have no marks.
type waiterChunk struct {
	ids    [chunkWaiters]uint64
	pushes [chunkWaiters]uint32
	seen   [chunkWaiters]uint32
	marks  *[chunkWaiters]marks
}

const (
	chunkWaiters = 255 // with their marks' pointer 4 KiB
	leastIndex   = 8
	// waiterBytes is the memory of a waiting id, and waiterMarks what its marks take.
	waiterBytes, waiterMarks = 24, 8
)

func (m *waiterMap) len() int { return m.n }

// bytes is the memory of the waiters.
func (m *waiterMap) bytes() int {
	n := 4*len(m.index) + len(m.chunks)*(int(unsafe.Sizeof(waiterChunk{}))+8)
	for _, c := range m.chunks {
		if c.marks != nil {
			n += int(unsafe.Sizeof(*c.marks))
		}
	}
	return n
}

// home is the place in the index where the search for an id begins.
func (m *waiterMap) home(id uint64) int {
	high, _ := bits.Mul64(id*0x9e3779b97f4a7c15, uint64(len(m.index)))
	return int(high)
}

// find returns the place of an id in the index, or the empty one where it would be. The index has an empty place.
func (m *waiterMap) find(id uint64) (at int, has bool) {
	for at = m.home(id); m.index[at] != 0; at = m.next(at) {
		if i := int(m.index[at] - 1); m.chunks[i/chunkWaiters].ids[i%chunkWaiters] == id {
			return at, true
		}
	}
	return at, false
}

func (m *waiterMap) next(at int) int {
	if at++; at == len(m.index) {
		return 0
	}
	return at
}

// get returns the counts of an id; has is false, and they are zero, if it is not there.
func (m *waiterMap) get(id uint64) (is waiter, has bool) {
	if m.n == 0 {
		return is, false
	}
	at, has := m.find(id)
	if has {
		_, is = m.at(int(m.index[at] - 1))
	}
	return is, has
}

// replace sets the counts of an id that is there, and reports whether it is.
func (m *waiterMap) replace(id uint64, is waiter) bool {
	if m.n == 0 {
		return false
	}
	at, has := m.find(id)
	if has {
		m.set(int(m.index[at]-1), id, is)
	}
	return has
}

// insert adds an id that is not there.
func (m *waiterMap) insert(id uint64, is waiter) {
	if m.n >= len(m.index)*7/8 {
		m.grow()
	}
	if m.n%chunkWaiters == 0 {
		m.chunks = append(m.chunks, new(waiterChunk))
	}
	at, _ := m.find(id)
	m.n++
	m.index[at] = uint32(m.n)
	m.set(m.n-1, id, is)
}

// at returns the waiter with a number.
func (m *waiterMap) at(i int) (id uint64, is waiter) {
	c, i := m.chunks[i/chunkWaiters], i%chunkWaiters
	is = waiter{pushes: c.pushes[i], seen: c.seen[i]}
	if c.marks != nil {
		is.marks = c.marks[i]
	}
	return c.ids[i], is
}

func (m *waiterMap) set(i int, id uint64, is waiter) {
	c, i := m.chunks[i/chunkWaiters], i%chunkWaiters
	c.ids[i], c.pushes[i], c.seen[i] = id, is.pushes, is.seen
	if c.marks == nil && is.marks != (marks{}) {
		c.marks = new([chunkWaiters]marks)
	}
	if c.marks != nil {
		c.marks[i] = is.marks
	}
}

// remove removes an id, if it is there.
func (m *waiterMap) remove(id uint64) {
	if m.n == 0 {
		return
	}
	at, has := m.find(id)
	if !has {
		return
	}
	i := int(m.index[at] - 1)
	m.close(at)
	if last := m.n - 1; i != last {
		moved, is := m.at(last)
		to, _ := m.find(moved)
		m.index[to] = uint32(i + 1)
		m.set(i, moved, is)
	}
	if m.n--; m.n%chunkWaiters == 0 {
		m.chunks = m.chunks[:len(m.chunks)-1]
	}
}

// close empties a place of the index, and moves later entries up, so that each is still found from its home on.
func (m *waiterMap) close(at int) {
	for next := m.next(at); m.index[next] != 0; next = m.next(next) {
		i := int(m.index[next] - 1)
		home := m.home(m.chunks[i/chunkWaiters].ids[i%chunkWaiters])
		if away := m.behind(next, home); away >= m.behind(next, at) {
			m.index[at], at = m.index[next], next
		}
	}
	m.index[at] = 0
}

// behind is how far a place lies behind another, round the end.
func (m *waiterMap) behind(at, other int) int {
	if at < other {
		at += len(m.index)
	}
	return at - other
}

// grow makes the index half as large again.
func (m *waiterMap) grow() {
	m.index = make([]uint32, max(leastIndex, len(m.index)+len(m.index)/2))
	for i := range m.n {
		at, _ := m.find(m.chunks[i/chunkWaiters].ids[i%chunkWaiters])
		m.index[at] = uint32(i + 1)
	}
}

// all are the waiters, the last one first; the one that is yielded may be removed or set.
func (m *waiterMap) all() iter.Seq2[uint64, waiter] {
	return func(yield func(uint64, waiter) bool) {
		for i := m.n - 1; i >= 0; i-- {
			if !yield(m.at(i)) {
				return
			}
		}
	}
}

// ids are the ids of all waiters.
func (m *waiterMap) ids() iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for id := range m.all() {
			if !yield(id) {
				return
			}
		}
	}
}
