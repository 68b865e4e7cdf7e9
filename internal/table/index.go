package table

// index finds row numbers by hash: open addressing with linear probing. An entry holds the low 32 bits of the hash above the
// row's number plus one; 0 is empty. The hash bits decide the place, so the index grows without looking at a row. They don't
// prove that the id is the same: the row's header does.
type index struct {
	entries []uint64
	used    int
}

const minEntries = 16

func newIndex() index { return index{entries: make([]uint64, minEntries)} }

// first returns the row, plus one, of the first entry with this hash, or 0. It is right for all but the few ids that share 32
// bits of hash with another.
func (x *index) first(hash uint32) uint32 {
	mask := uint32(len(x.entries) - 1)
	for at := hash & mask; ; at = (at + 1) & mask {
		e := x.entries[at]
		if uint32(e>>32) == hash || e == 0 {
			return uint32(e)
		}
	}
}

// find returns the row with that id.
func (x *index) find(a *arena, hash uint32, id uint64) *header {
	mask := uint32(len(x.entries) - 1)
	for at := hash & mask; x.entries[at] != 0; at = (at + 1) & mask {
		if e := x.entries[at]; uint32(e>>32) == hash {
			if h := a.at(uint32(e) - 1); h.id == id {
				return h
			}
		}
	}
	return nil
}

// insert adds a row whose id is not there.
func (x *index) insert(hash, row uint32) {
	if x.used >= len(x.entries)/4*3 {
		x.grow()
	}
	x.place(uint64(hash)<<32 | uint64(row+1))
	x.used++
}

func (x *index) place(e uint64) {
	mask := uint32(len(x.entries) - 1)
	at := uint32(e>>32) & mask
	for x.entries[at] != 0 {
		at = (at + 1) & mask
	}
	x.entries[at] = e
}

func (x *index) grow() {
	old := x.entries
	x.entries = make([]uint64, 2*len(old))
	for _, e := range old {
		if e != 0 {
			x.place(e)
		}
	}
}
