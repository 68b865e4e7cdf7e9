package table

// rowBits has a bit for each row of a shard, by the row's number in the arena. Bits after the last word are 0.
type rowBits struct{ words []uint64 }

func (r *rowBits) has(row uint32) bool {
	word := int(row >> 6)
	return word < len(r.words) && r.words[word]>>(row&63)&1 != 0
}

func (r *rowBits) set(row uint32) {
	word := int(row >> 6)
	if word >= len(r.words) {
		r.grow(word + 1)
	}
	r.words[word] |= 1 << (row & 63)
}

func (r *rowBits) clear(row uint32) {
	if word := int(row >> 6); word < len(r.words) {
		r.words[word] &^= 1 << (row & 63)
	}
}

// word is the i-th word, 0 if it does not exist yet.
func (r *rowBits) word(i int) uint64 {
	if i >= len(r.words) {
		return 0
	}
	return r.words[i]
}

// put sets the i-th word.
func (r *rowBits) put(i int, word uint64) {
	if i >= len(r.words) {
		r.grow(i + 1)
	}
	r.words[i] = word
}

// grow makes room for that many words, by whole chunks of rows.
func (r *rowBits) grow(words int) {
	const step = 1 << 5
	r.words = append(r.words, make([]uint64, (words+step-1)/step*step-len(r.words))...)
}

// fill sets the bits of all rows that are in use.
func (r *rowBits) fill(a *arena) {
	for row := range a.rows {
		if a.at(row).step != isFree {
			r.set(row)
		}
	}
}
