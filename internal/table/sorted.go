package table

import (
	"math/bits"
	"slices"
)

// sorted are ids ascending, in memory of their own where they are many. Ids that count from a number on, and hashes, lie rather evenly
// between the smallest and the largest: each goes to one of about half as many buckets by its place between these, which leaves little
// to sort.
func sorted(ids []uint64) []uint64 {
	const few = 64
	if len(ids) < few {
		slices.Sort(ids)
		return ids
	}
	lowest, highest := slices.Min(ids), slices.Max(ids)
	shift := max(0, bits.Len64(highest-lowest)-bits.Len(uint(len(ids)/2)))
	ends := make([]int, (highest-lowest)>>shift+1)
	for _, id := range ids {
		ends[(id-lowest)>>shift]++
	}
	begin := 0
	for i, n := range ends {
		ends[i], begin = begin, begin+n
	}
	all := make([]uint64, len(ids))
	for _, id := range ids {
		at := &ends[(id-lowest)>>shift]
		all[*at] = id
		*at++
	}
	if shift > 0 {
		sortPieces(all, ends)
	}
	return all
}

// sortPieces sorts each piece of ids, given where they end.
func sortPieces(ids []uint64, ends []int) {
	begin := 0
	for _, end := range ends {
		if end-begin > 1 {
			slices.Sort(ids[begin:end])
		}
		begin = end
	}
}
