package table

import "unsafe"

// index finds row numbers by hash. It has segments of a fixed size, selected by the hash's high bits; a full one is
// split in two, so that no insertion ever waits for the whole index to be rebuilt (extendible hashing: Fagin,
// Nievergelt, Pippenger and Strong, 1979). A segment uses open addressing with linear probing by the hash's low bits.
//
// An entry holds the 32 bits of the hash above the row's number plus one; 0 is empty. So the index grows and shrinks
// without reading a row. Equal bits don't prove that the id is the same: the row's header decides.
type index struct {
	places []place // by the hash's high bits; a segment that was split less often than others has several
	shift  uint    // of a hash, to its high bits
	count  int     // number of segments
}

// place is a segment with its size stored apart: entries alone fill whole cache lines and pages.
type place struct {
	entries *entries
	size    *size
}

type entries [segmentLen]uint64

type size struct {
	used  uint32
	depth uint32 // number of high bits of the hash that its entries share
}

const (
	segmentLen  = 1024
	segmentMask = segmentLen - 1
	segmentFull = segmentLen / 4 * 3
	placeBytes  = int(unsafe.Sizeof(place{}))
	// segmentBytes is the size of a new segment.
	segmentBytes = int(unsafe.Sizeof(entries{}) + unsafe.Sizeof(size{}))
)

func newIndex() index {
	return index{places: []place{{new(entries), new(size)}}, shift: 32, count: 1}
}

func (x *index) at(hash uint32) *place { return &x.places[hash>>x.shift] }

// first returns the row, plus one, of the first entry with this hash, or 0. It is the right row except for the few ids
// that share 32 bits of hash with another.
func (x *index) first(hash uint32) uint32 {
	seg := x.at(hash).entries
	for at := hash & segmentMask; ; at = (at + 1) & segmentMask {
		e := seg[at]
		if uint32(e>>32) == hash || e == 0 {
			return uint32(e)
		}
	}
}

// find returns the number and the header of the row with that id; nil if there is none.
func (x *index) find(a *arena, hash uint32, id uint64) (row uint32, h *header) {
	seg := x.at(hash).entries
	for at := hash & segmentMask; seg[at] != 0; at = (at + 1) & segmentMask {
		if e := seg[at]; uint32(e>>32) == hash {
			if h := a.at(uint32(e) - 1); h.id == id {
				return uint32(e) - 1, h
			}
		}
	}
	return 0, nil
}

// insert adds a row that is not in the index.
func (x *index) insert(hash, row uint32) {
	for x.full(hash) {
		x.cut(hash)
	}
	p := x.at(hash)
	p.entries.place(uint64(hash)<<32 | uint64(row+1))
	p.size.used++
}

// full reports whether the next insertion of that hash splits a segment.
func (x *index) full(hash uint32) bool { return x.at(hash).size.used >= segmentFull }

func (x *index) depth() uint32 { return uint32(32 - x.shift) }

func (x *index) bytes() int { return x.count*segmentBytes + len(x.places)*placeBytes }

func (e *entries) place(entry uint64) {
	at := uint32(entry>>32) & segmentMask
	for e[at] != 0 {
		at = (at + 1) & segmentMask
	}
	e[at] = entry
}

// cut splits the segment of a hash, by the next high bit.
func (x *index) cut(hash uint32) {
	if x.at(hash).size.depth == x.depth() {
		x.double()
	}
	old := *x.at(hash)
	low, high := place{new(entries), old.size}, place{new(entries), &size{depth: old.size.depth + 1}}
	old.size.used, old.size.depth = 0, old.size.depth+1
	bit := uint(64 - old.size.depth) // of an entry
	for _, e := range old.entries {
		if e == 0 {
			continue
		}
		p := low
		if e>>bit&1 == 1 {
			p = high
		}
		p.entries.place(e)
		p.size.used++
	}
	x.replace(hash, low, high)
	x.count++
}

// replace gives the places of the split segment to its two halves.
func (x *index) replace(hash uint32, low, high place) {
	each := 1 << (x.depth() - low.size.depth) // places of each half
	first := int(hash>>x.shift) &^ (2*each - 1)
	for i := range each {
		x.places[first+i], x.places[first+each+i] = low, high
	}
}

// double makes room for one more bit of the hash.
func (x *index) double() {
	wide := make([]place, 2*len(x.places))
	for i, p := range x.places {
		wide[2*i], wide[2*i+1] = p, p
	}
	x.places = wide
	x.shift--
}

// remove removes a row that is in the index.
func (x *index) remove(hash, row uint32) {
	p := x.at(hash)
	at := hash & segmentMask
	for p.entries[at] != uint64(hash)<<32|uint64(row+1) {
		at = (at + 1) & segmentMask
	}
	p.entries.close(at)
	p.size.used--
}

// close removes an entry and moves later entries up, so that each is still found from its home on.
func (e *entries) close(at uint32) {
	for next := (at + 1) & segmentMask; e[next] != 0; next = (next + 1) & segmentMask {
		home := uint32(e[next]>>32) & segmentMask
		if (next-home)&segmentMask >= (next-at)&segmentMask {
			e[at] = e[next]
			at = next
		}
	}
	e[at] = 0
}
