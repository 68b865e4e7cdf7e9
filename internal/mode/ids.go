package mode

import (
	"math/bits"
	"slices"
)

// IDs is a set of ids that many are added to between one look at all of them and the next: an open-addressed table of plain
// numbers, several times as fast as a map. The zero value is empty.
type IDs struct {
	slots []uint64 // 0 is free; a power of two, at most half full
	n     int      // slots in use
	zero  bool     // id 0 is in the set
	room  []uint64 // that sorting needs
}

// Len is how many there are.
func (s *IDs) Len() int {
	if s.zero {
		return s.n + 1
	}
	return s.n
}

// Add adds ids, whether or not they are there.
func (s *IDs) Add(ids ...uint64) {
	for _, id := range ids {
		if id == 0 {
			s.zero = true
			continue
		}
		if 2*s.n >= len(s.slots) {
			s.grow()
		}
		if at := s.place(id); s.slots[at] == 0 {
			s.slots[at] = id
			s.n++
		}
	}
}

// Has says whether an id is there.
func (s *IDs) Has(id uint64) bool {
	if id == 0 || s.n == 0 {
		return id == 0 && s.zero
	}
	return s.slots[s.place(id)] == id
}

// place is where an id is, or where it would go.
func (s *IDs) place(id uint64) int {
	mask := len(s.slots) - 1
	hi, lo := bits.Mul64(id^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
	at := int(hi^lo) & mask
	for s.slots[at] != 0 && s.slots[at] != id {
		at = (at + 1) & mask
	}
	return at
}

func (s *IDs) grow() {
	old := s.slots
	s.slots = make([]uint64, max(64, 2*len(old)))
	for _, id := range old {
		if id != 0 {
			s.slots[s.place(id)] = id
		}
	}
}

// Take appends the ids to dst, which it sorts and rids of what is twice, and empties the set.
func (s *IDs) Take(dst []uint64) []uint64 {
	dst = slices.Grow(dst, s.Len())
	if s.zero {
		dst = append(dst, 0)
	}
	for _, id := range s.slots {
		if id != 0 {
			dst = append(dst, id)
		}
	}
	s.Clear()
	s.sort(dst)
	return slices.Compact(dst)
}

// sort sorts ids by their digits of 11 bits, the lowest first, passing over digits in which all are alike.
func (s *IDs) sort(ids []uint64) {
	if len(ids) < 1<<10 {
		slices.Sort(ids)
		return
	}
	differ := uint64(0)
	for _, id := range ids {
		differ |= id ^ ids[0]
	}
	s.room = slices.Grow(s.room[:0], len(ids))[:len(ids)]
	from, to := ids, s.room
	for shift := 0; differ>>shift != 0; shift += 11 {
		if differ>>shift&(1<<11-1) != 0 {
			pass(to, from, shift)
			from, to = to, from
		}
	}
	copy(ids, from)
}

// pass puts ids into the order of one digit; those with the same keep theirs.
func pass(to, from []uint64, shift int) {
	var at [1 << 11]int
	for _, id := range from {
		at[id>>shift&(1<<11-1)]++
	}
	next := 0
	for digit, n := range at {
		at[digit], next = next, next+n
	}
	for _, id := range from {
		digit := id >> shift & (1<<11 - 1)
		to[at[digit]] = id
		at[digit]++
	}
}

// Clear empties the set. Its memory stays for the next ids.
func (s *IDs) Clear() {
	clear(s.slots)
	s.n, s.zero = 0, false
}
