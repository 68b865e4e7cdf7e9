package mode

import (
	"fmt"
	"slices"
)

// Weighting says how much each worker's mean gradient counts in a round's update.
type Weighting int

const (
	// BySamples weighs by number of samples: the update of the joined batch, whatever its cut.
	BySamples Weighting = iota
	// Equally gives every member of the round the same weight, as the original's first generation does.
	Equally
	// ByPushes weighs dense gradients equally, and divides each row's sum by the number of workers that pushed that row, as
	// the original's later generations do.
	ByPushes
)

// ParseWeighting reads a strategy's name for it: "samples" (also ""), "equal", "pushes".
func ParseWeighting(name string) (Weighting, error) {
	switch name {
	case "", "samples":
		return BySamples, nil
	case "equal":
		return Equally, nil
	case "pushes":
		return ByPushes, nil
	}
	return 0, fmt.Errorf("mode: unknown weighting %q (known: samples, equal, pushes)", name)
}

// Factors appends each member's factor to dst; samples are theirs, in the round's order.
func (w Weighting) Factors(dst []float32, samples []int) []float32 {
	total := 0
	for _, n := range samples {
		total += n
	}
	for _, n := range samples {
		if w == BySamples && total > 0 {
			dst = append(dst, float32(float64(n)/float64(total)))
		} else {
			dst = append(dst, float32(1/float64(len(samples))))
		}
	}
	return dst
}

// FoldDense sets dst to the weighted sum of the members' gradients, in their order.
func FoldDense(dst []float32, gradients [][]float32, factors []float32) {
	for m, g := range gradients {
		f := factors[m]
		if m == 0 {
			for i, v := range g {
				dst[i] = f * v
			}
			continue
		}
		for i, v := range g {
			dst[i] += f * v
		}
	}
}

// Rows are gradients of rows: ids, strictly increasing, and dim floats for each.
type Rows struct {
	IDs []uint64
	G   []float32
	// Counts are two numbers for each id, how often it was shown and clicked; nil is one show of each and no click.
	Counts []float32
}

// Folder merges the rows of a round's members. Its result is valid until the next Fold; it allocates only to grow.
type Folder struct {
	out    Rows
	counts []float32
	next   []int
}

// Fold sums the members' rows by id, in the members' order, each with its factor. Shows and clicks are sums whatever the
// factors; where no member says anything of them, the result says nothing either.
func (f *Folder) Fold(dim int, members []Rows, factors []float32, w Weighting) Rows {
	f.out.IDs, f.out.G, f.counts = f.out.IDs[:0], f.out.G[:0], f.counts[:0]
	f.out.Counts = nil
	counted := slices.ContainsFunc(members, func(r Rows) bool { return r.Counts != nil })
	f.next = append(f.next[:0], make([]int, len(members))...)
	for {
		id, ok := f.smallest(members)
		if !ok {
			break
		}
		if counted {
			f.addCounts(id, members)
		}
		f.addRow(dim, id, members, factors, w)
	}
	if counted {
		f.out.Counts = f.counts
	}
	return f.out
}

// addCounts adds the shows and clicks of an id, which all members that have it come to next.
func (f *Folder) addCounts(id uint64, members []Rows) {
	var show, click float32
	for m, at := range f.next {
		r := &members[m]
		switch {
		case at == len(r.IDs) || r.IDs[at] != id:
		case r.Counts == nil:
			show++
		default:
			show, click = show+r.Counts[2*at], click+r.Counts[2*at+1]
		}
	}
	f.counts = append(f.counts, show, click)
}

func (f *Folder) smallest(members []Rows) (id uint64, ok bool) {
	for m, at := range f.next {
		if ids := members[m].IDs; at < len(ids) && (!ok || ids[at] < id) {
			id, ok = ids[at], true
		}
	}
	return id, ok
}

func (f *Folder) addRow(dim int, id uint64, members []Rows, factors []float32, w Weighting) {
	start := len(f.out.G)
	f.out.IDs = append(f.out.IDs, id)
	f.out.G = append(f.out.G, make([]float32, dim)...)
	row, pushes := f.out.G[start:], 0
	for m, at := range f.next {
		if at == len(members[m].IDs) || members[m].IDs[at] != id {
			continue
		}
		f.next[m]++
		pushes++
		factor := factors[m]
		if w == ByPushes {
			factor = 1
		}
		for i, v := range members[m].G[at*dim:][:dim] {
			row[i] += factor * v
		}
	}
	if w == ByPushes && pushes > 1 {
		for i := range row {
			row[i] /= float32(pushes)
		}
	}
}
