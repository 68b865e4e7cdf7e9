package kernels

import (
	"math/bits"
	"slices"
)

// Uniquer is the memory of [Unique]. Its zero value is ready; it grows to the largest input seen and allocates no more
// after that. It must not be used by two goroutines at once.
type Uniquer struct {
	keys, spare []keyed
	counts      [1 << maxDigit]int32
	unique      []uint64
	inverse     []int32
}

// keyed is an id and its position.
type keyed struct {
	id  uint64
	pos int32
}

const (
	maxDigit   = 11 // bits of a pass's digit, for many ids
	smallDigit = 8  // the same for few ids, where clearing the counts costs more than a pass
	manyIDs    = 1 << 11
	insertion  = 32 // up to here insertion sort is faster
)

// Unique returns the ids without repetition, strictly increasing, and for every id its position in that list:
// unique[inverse[i]] == ids[i]. Without ids unique is empty, and not nil. Both results belong to u and are valid until
// its next use; ids is not changed. It sorts by radix, in passes over the digits in which ids differ.
func Unique(ids []uint64, u *Uniquer) (unique []uint64, inverse []int32) {
	sorted := u.sort(ids)
	u.unique, u.inverse = slices.Grow(u.unique[:0], 1), grow(u.inverse, len(ids))
	for i, k := range sorted {
		if i == 0 || k.id != sorted[i-1].id {
			u.unique = append(u.unique, k.id)
		}
		u.inverse[k.pos] = int32(len(u.unique) - 1)
	}
	return u.unique, u.inverse
}

// sort returns the ids with their positions in order of the ids.
func (u *Uniquer) sort(ids []uint64) []keyed {
	u.keys, u.spare = grow(u.keys, len(ids)), grow(u.spare, len(ids))
	differ := u.load(ids)
	if len(ids) <= insertion {
		insertionSort(u.keys)
		return u.keys
	}
	width := smallDigit
	if len(ids) >= manyIDs {
		width = maxDigit
	}
	for shift := bits.TrailingZeros64(differ); shift < bits.Len64(differ); shift += width {
		u.pass(shift, width)
		u.keys, u.spare = u.spare, u.keys
	}
	return u.keys
}

// load fills keys and returns the bits in which ids differ.
func (u *Uniquer) load(ids []uint64) (differ uint64) {
	for i, id := range ids {
		u.keys[i] = keyed{id, int32(i)}
		differ |= id ^ ids[0]
	}
	return differ
}

// pass moves keys to spare, sorted by one digit; keys with the same digit keep their order.
func (u *Uniquer) pass(shift, width int) {
	counts := u.counts[:1<<width]
	clear(counts)
	mask := uint64(len(counts) - 1)
	for _, k := range u.keys {
		counts[k.id>>shift&mask]++
	}
	var next int32
	for d, n := range counts {
		counts[d] = next
		next += n
	}
	for _, k := range u.keys {
		d := k.id >> shift & mask
		u.spare[counts[d]] = k
		counts[d]++
	}
}

func insertionSort(keys []keyed) {
	for i, k := range keys {
		for ; i > 0 && keys[i-1].id > k.id; i-- {
			keys[i] = keys[i-1]
		}
		keys[i] = k
	}
}

// grow returns s with length n, in new memory if its capacity is too small.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/4)
	}
	return s[:n]
}
