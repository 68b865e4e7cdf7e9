package table

import (
	"math/bits"
	"slices"
)

// sorted sorts ids in place: a list of all ids of a table takes a considerable part of its memory. Consecutive ids, and
// hashes, are spread rather evenly between the smallest and the largest: each goes to one of many buckets by its place
// between these, which leaves little to sort. Buckets that are still large are sorted in the same way.
func sorted(ids []uint64) []uint64 {
	const few, most = 1 << 10, 1 << 15
	if len(ids) < few {
		slices.Sort(ids)
		return ids
	}
	lowest, highest := slices.Min(ids), slices.Max(ids)
	if lowest == highest {
		return ids
	}
	shift := max(0, bits.Len64(highest-lowest)-bits.Len(uint(min(len(ids)/16, most))))
	ends := deal(ids, lowest, shift, int((highest-lowest)>>shift)+1)
	if shift == 0 {
		return ids
	}
	begin := 0
	for _, end := range ends {
		sorted(ids[begin:end])
		begin = end
	}
	return ids
}

// deal moves ids into n consecutive buckets by their distance from the lowest, shifted, and returns where each bucket
// ends.
func deal(ids []uint64, lowest uint64, shift, n int) (ends []int) {
	next, ends := make([]int, n), make([]int, n)
	for _, id := range ids {
		ends[(id-lowest)>>shift]++
	}
	for b := 1; b < n; b++ {
		next[b] = ends[b-1]
		ends[b] += ends[b-1]
	}
	for b := range ends {
		for next[b] < ends[b] {
			id := ids[next[b]]
			for to := int((id - lowest) >> shift); to != b; to = int((id - lowest) >> shift) {
				at := next[to]
				next[to]++
				id, ids[at] = ids[at], id
			}
			ids[next[b]] = id
			next[b]++
		}
	}
	return ends
}
