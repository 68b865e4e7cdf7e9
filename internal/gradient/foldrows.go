package gradient

import (
	"math/bits"
	"slices"

	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// Folder merges the rows of a round's members. Its result is valid until the next Fold; it allocates only to grow.
type Folder struct {
	out    Rows
	clicks []float32

	// For more than two members: all their ids, concatenated, and for each id its row of out.
	sorter kernels.Uniquer
	all    []uint64
	places []int32
	starts []int   // by member: where its ids begin in all
	next   []int   // by member: its next row
	pushes []int32 // by row of out: how many members had it so far
}

// Fold sums the members' rows of an embedding by id, in the members' order, each row times its member's factor. If the
// param's entry policy counts shows and clicks, or pushes, the result has their sums without factors.
func (f *Folder) Fold(p *optimizer.Param, members []Rows, factors []float32, w strategy.Weighting) Rows {
	f.fold(p.Dim(), p.Entry.Counts(), members, factors, w)
	if p.Entry.CountFilter > 1 {
		f.out.Pushes = f.pushes
	}
	return f.out
}

func (f *Folder) fold(dim int, counted bool, members []Rows, factors []float32, w strategy.Weighting) {
	f.out.Clicks, f.out.Pushes = nil, nil
	if len(members) == 2 && !counted && w != strategy.WeightPushes {
		f.foldTwo(dim, members, factors)
		return
	}
	f.place(dim, members, counted)
	for end := 0; end < len(f.out.IDs); {
		end += foldBlock
		for m := range members {
			f.addMember(m, &members[m], factorOf(m, factors, w), dim, end)
		}
	}
	if w == strategy.WeightPushes {
		f.divide(dim)
	}
}

// foldBlock is how many rows of the result all members are added to before the next rows, few enough for a core's
// cache.
const foldBlock = 2048

func factorOf(m int, factors []float32, w strategy.Weighting) float32 {
	if w == strategy.WeightPushes {
		return 1
	}
	return factors[m]
}

// place finds the result's ids, and the row of the result for each member's row.
func (f *Folder) place(dim int, members []Rows, counted bool) {
	f.all, f.starts, f.next = f.all[:0], f.starts[:0], f.next[:0]
	for m := range members {
		f.starts, f.next = append(f.starts, len(f.all)), append(f.next, 0)
		f.all = append(f.all, members[m].IDs...)
	}
	f.out.IDs, f.places = kernels.Unique(f.all, &f.sorter)
	n := len(f.out.IDs)
	f.out.G = slices.Grow(f.out.G[:0], n*dim)[:n*dim]
	f.pushes = slices.Grow(f.pushes[:0], n)[:n]
	clear(f.pushes)
	if counted {
		f.clicks = slices.Grow(f.clicks[:0], 2*n)[:2*n]
		clear(f.clicks)
		f.out.Clicks = f.clicks
	}
}

// addMember adds a member's rows that go to rows of the result below end.
func (f *Folder) addMember(m int, r *Rows, factor float32, dim, end int) {
	at, places := f.next[m], f.places[f.starts[m]:]
	for ; at < len(r.IDs) && int(places[at]) < end; at++ {
		to := int(places[at])
		row, g := f.out.G[to*dim:][:dim], r.G[at*dim:]
		if f.pushes[to] == 0 {
			setScaled(row, g, factor)
		} else {
			addScaled(row, g, factor)
		}
		f.pushes[to]++
		if f.out.Clicks != nil {
			addClicks(f.out.Clicks[2*to:], r.Clicks, at)
		}
	}
	f.next[m] = at
}

// addClicks adds a member's shows and clicks of a row.
func addClicks(sum, clicks []float32, at int) {
	if clicks == nil {
		sum[0]++
		return
	}
	sum[0] += clicks[2*at]
	sum[1] += clicks[2*at+1]
}

// divide turns sums of rows into means over the members that had the row.
func (f *Folder) divide(dim int) {
	for to, n := range f.pushes {
		if n > 1 {
			for i := range dim {
				f.out.G[to*dim+i] /= float32(n)
			}
		}
	}
}

// foldTwo is Fold for two members without counts. It avoids a branch on which member comes next, which a processor
// could not predict.
func (f *Folder) foldTwo(dim int, members []Rows, factors []float32) {
	n := len(members[0].IDs) + len(members[1].IDs)
	f.out.IDs, f.out.G, f.pushes = slices.Grow(f.out.IDs[:0], n), slices.Grow(f.out.G[:0], n*dim),
		slices.Grow(f.pushes[:0], n)
	a, b := members[0].IDs, members[1].IDs
	var at [2]int
	for at[0] < len(a) && at[1] < len(b) {
		x, y := a[at[0]], b[at[1]]
		_, m := bits.Sub64(y, x, 0) // the member with the lower id
		row := f.add(min(x, y), dim)
		setScaled(row, members[m].G[at[m]*dim:], factors[m])
		at[m]++
		if x == y {
			addScaled(row, members[1].G[at[1]*dim:], factors[1])
			f.pushes[len(f.pushes)-1]++
			at[1]++
		}
	}
	for m := range at {
		for ; at[m] < len(members[m].IDs); at[m]++ {
			setScaled(f.add(members[m].IDs[at[m]], dim), members[m].G[at[m]*dim:], factors[m])
		}
	}
}

// add appends an id and returns its row, whose values are undefined.
func (f *Folder) add(id uint64, dim int) []float32 {
	start := len(f.out.G)
	f.out.IDs, f.pushes = append(f.out.IDs, id), append(f.pushes, 1)
	f.out.G = f.out.G[:start+dim]
	return f.out.G[start:]
}

// setScaled sets dst to factor times the first elements of g, four at a time.
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

// addScaled adds factor times the first elements of g to dst. Each product is rounded before it is added.
func addScaled(dst, g []float32, factor float32) {
	g = g[:len(dst)]
	for i, v := range g {
		dst[i] += float32(factor * v)
	}
}
