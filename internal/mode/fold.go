package mode

import (
	"fmt"
	"math/bits"
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

// Slice is the rows [from, to) of them, each of width dim.
func (r Rows) Slice(from, to, dim int) Rows {
	part := Rows{IDs: r.IDs[from:to], G: r.G[from*dim : to*dim]}
	if r.Counts != nil {
		part.Counts = r.Counts[2*from : 2*to]
	}
	return part
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
	f.begin(dim, members)
	if len(members) == 2 && !counted && w != ByPushes {
		f.foldTwo(dim, members, factors)
		return f.out
	}
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

// begin makes room for the members' rows, none of which may have an id in common.
func (f *Folder) begin(dim int, members []Rows) {
	n := 0
	for m := range members {
		n += len(members[m].IDs)
	}
	f.out.IDs, f.out.G = slices.Grow(f.out.IDs, n), slices.Grow(f.out.G, n*dim)
	f.next = append(f.next[:0], make([]int, len(members))...)
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
	row, pushes := f.add(id, dim), 0
	for m, at := range f.next {
		if at == len(members[m].IDs) || members[m].IDs[at] != id {
			continue
		}
		f.next[m]++
		factor := factors[m]
		if w == ByPushes {
			factor = 1
		}
		if pushes++; pushes == 1 {
			setScaled(row, members[m].G[at*dim:], factor)
		} else {
			addScaled(row, members[m].G[at*dim:], factor)
		}
	}
	if w == ByPushes && pushes > 1 {
		for i := range row {
			row[i] /= float32(pushes)
		}
	}
}

// foldTwo is Fold for two members, where it is a toss-up which of them comes next: the branches are those that a processor
// can foresee.
func (f *Folder) foldTwo(dim int, members []Rows, factors []float32) {
	a, b := members[0].IDs, members[1].IDs
	var at [2]int
	for at[0] < len(a) && at[1] < len(b) {
		x, y := a[at[0]], b[at[1]]
		_, m := bits.Sub64(y, x, 0) // whose turn it is
		row := f.add(min(x, y), dim)
		setScaled(row, members[m].G[at[m]*dim:], factors[m])
		at[m]++
		if x == y {
			addScaled(row, members[1].G[at[1]*dim:], factors[1])
			at[1]++
		}
	}
	for m := range at {
		for ; at[m] < len(members[m].IDs); at[m]++ {
			setScaled(f.add(members[m].IDs[at[m]], dim), members[m].G[at[m]*dim:], factors[m])
		}
	}
}

// add is the row of one more id, which holds anything.
func (f *Folder) add(id uint64, dim int) []float32 {
	start := len(f.out.G)
	f.out.IDs = append(f.out.IDs, id)
	f.out.G = f.out.G[:start+dim]
	return f.out.G[start:]
}

// setScaled sets dst to the first of factor·g, four at a time.
func setScaled(dst, g []float32, factor float32) {
	for len(dst) >= 4 && len(g) >= 4 {
		d, v := (*[4]float32)(dst), (*[4]float32)(g)
		d[0], d[1], d[2], d[3] = factor*v[0], factor*v[1], factor*v[2], factor*v[3]
		dst, g = dst[4:], g[4:]
	}
	for i := range dst {
		dst[i] = factor * g[i]
	}
}

// addScaled adds the first of factor·g to dst. Each product is rounded before it is added.
func addScaled(dst, g []float32, factor float32) {
	g = g[:len(dst)]
	for i, v := range g {
		dst[i] += float32(factor * v)
	}
}
