package collective

import "sort"

// vector is a sequence of slices, addressed as one.
type vector[E Element] struct {
	parts [][]E
	ends  []int // the end of each part in the vector
}

func newVector[E Element](parts [][]E) vector[E] {
	v := vector[E]{parts: parts, ends: make([]int, len(parts))}
	n := 0
	for i, p := range parts {
		n += len(p)
		v.ends[i] = n
	}
	return v
}

func (v *vector[E]) len() int {
	if len(v.ends) == 0 {
		return 0
	}
	return v.ends[len(v.ends)-1]
}

// spans calls f with each piece of [from, to), in order, and with its start in the vector.
func (v *vector[E]) spans(from, to int, f func(at int, piece []E)) {
	for i := sort.SearchInts(v.ends, from+1); from < to; i++ {
		p := v.parts[i]
		start := v.ends[i] - len(p)
		end := min(to, v.ends[i])
		if end > from {
			f(from, p[from-start:end-start])
		}
		from = end
	}
}

// appendBytes appends the pieces of [from, to) as Bytes.
func (v *vector[E]) appendBytes(out [][]byte, from, to int) [][]byte {
	v.spans(from, to, func(_ int, piece []E) { out = append(out, Bytes(piece)) })
	return out
}

// set copies x to [from, from+len(x)).
func (v *vector[E]) set(from int, x []E) {
	v.spans(from, from+len(x), func(at int, piece []E) { copy(piece, x[at-from:]) })
}

// segment returns the range of n elements that a rank owns.
func segment(n, rank, ranks int) (from, to int) {
	return cutAt(n, rank, ranks), cutAt(n, rank+1, ranks)
}

// cutAt returns the start of a rank's segment, a multiple of 16 elements unless it is n.
func cutAt(n, rank, ranks int) int {
	const grain = 16
	units := (n + grain - 1) / grain
	return min(n, (units*rank/ranks)*grain)
}

// chunks returns the number of chunks of a segment. An empty segment has one chunk too, so that in each collective
// every rank gets a message of every other.
func chunks(length, cut int) int { return max(1, (length+cut-1)/cut) }

// chunkAt returns the range of chunk i of the segment [from, to).
func chunkAt(from, to, i, cut int) (int, int) {
	lo := min(to, from+i*cut)
	return lo, min(to, lo+cut)
}
