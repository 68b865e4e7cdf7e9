package histogram

import (
	"cmp"
	"slices"
)

// ranked are the scores of one group, without weights, in order, with the pairs that are in order among them: an AUC
// after each batch costs what the batch adds, where sorting and counting all scores would cost more than some nets do.
type ranked struct {
	blocks [][]uint32 // keys, ascending, never empty
	before []rank     // by block: what the blocks before it have
	sum    rank       // what all have
	area   int64      // twice the weight of pairs in order
	room   []uint32   // for more blocks
}

// rank counts scores below a place, and those with a positive label among them.
type rank struct{ all, pos int }

// mostInBlock is the number of keys at which a block is cut in two.
const mostInBlock = 256

// below returns the rank of a key, the block where it belongs, and its place there.
func (r *ranked) below(key uint32) (n rank, block, at int) {
	block, _ = slices.BinarySearchFunc(r.blocks, key, func(b []uint32, key uint32) int {
		return cmp.Compare(b[len(b)-1], key)
	})
	if block == len(r.blocks) {
		return r.sum, block - 1, len(r.blocks[block-1])
	}
	at, _ = slices.BinarySearch(r.blocks[block], key)
	return r.before[block].with(r.blocks[block][:at]), block, at
}

// add adds a key. A positive one is in order with the negative ones below, and half with those of its score; a negative
// one with the positive ones above.
func (r *ranked) add(key uint32) {
	if r == nil {
		return
	}
	if len(r.blocks) == 0 {
		r.blocks, r.before, r.sum = append(r.blocks, r.block(key)), append(r.before, rank{}), r.sum.with([]uint32{key})
		return
	}
	n, block, at := r.below(key)
	b, other := r.blocks[block], n // a score with the other label is rarely the same
	if key&1 == 1 {
		if at == 0 || b[at-1] == key-1 {
			other, _, _ = r.below(key - 1)
		}
		r.area += int64(n.all - n.pos + other.all - other.pos)
	} else {
		if at == len(b) || b[at] <= key+1 {
			other, _, _ = r.below(key + 2)
		}
		r.area += int64(2*r.sum.pos - other.pos - n.pos)
	}
	r.blocks[block] = slices.Insert(r.blocks[block], at, key)
	r.sum = rank{r.sum.all + 1, r.sum.pos + int(key&1)}
	for i := range r.before[block+1:] {
		next := &r.before[block+1+i]
		next.all, next.pos = next.all+1, next.pos+int(key&1)
	}
	if len(r.blocks[block]) == mostInBlock {
		r.cut(block)
	}
}

// cut makes two blocks of one.
func (r *ranked) cut(block int) {
	low, high := r.blocks[block][:mostInBlock/2], r.blocks[block][mostInBlock/2:]
	r.blocks[block] = low
	r.blocks = slices.Insert(r.blocks, block+1, r.block(high...))
	r.before = slices.Insert(r.before, block+1, r.before[block].with(low))
}

// block makes a block of keys.
func (r *ranked) block(keys ...uint32) []uint32 {
	if len(r.room) == 0 {
		r.room = make([]uint32, 128*mostInBlock)
	}
	b := append(r.room[:0:mostInBlock], keys...)
	r.room = r.room[mostInBlock:]
	return b
}

// with returns the rank behind keys that follow.
func (n rank) with(keys []uint32) rank {
	for _, k := range keys {
		n.pos += int(k & 1)
	}
	n.all += len(keys)
	return n
}
