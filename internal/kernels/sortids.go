package kernels

import (
	"math/bits"
	"slices"
)

// SortIDs sorts ids as [Unique] does, without positions, in place with the memory of u.
func SortIDs(ids []uint64, u *Uniquer) {
	if len(ids) < manyIDs {
		slices.Sort(ids)
		return
	}
	differ := uint64(0)
	for _, id := range ids {
		differ |= id ^ ids[0]
	}
	u.unique = grow(u.unique, len(ids))
	from, to := ids, u.unique
	for shift := bits.TrailingZeros64(differ); shift < bits.Len64(differ); shift += maxDigit {
		u.place(to, from, shift)
		from, to = to, from
	}
	copy(ids, from) // a copy of ids to itself after an even number of passes
}

// place sorts ids by one digit; ids with the same digit keep their order.
func (u *Uniquer) place(to, from []uint64, shift int) {
	counts := u.counts[:1<<maxDigit]
	clear(counts)
	mask := uint64(len(counts) - 1)
	for _, id := range from {
		counts[id>>shift&mask]++
	}
	next := int32(0)
	for d, n := range counts {
		counts[d] = next
		next += n
	}
	for _, id := range from {
		d := id >> shift & mask
		to[counts[d]] = id
		counts[d]++
	}
}
