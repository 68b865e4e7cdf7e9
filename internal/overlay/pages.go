package overlay

import (
	"cmp"
	"slices"

	"github.com/gofleet/gofleet/internal/narrow"
)

// pageRows is how many rows a page has when it is read, and the most rows of a folded page. Tests change it.
var pageRows = 1 << 16

// page holds rows by ascending id.
type page struct {
	ids  []uint64
	rows narrow.Rows
}

func newPage(n int, s shape) page { return page{make([]uint64, 0, n), narrow.New(s.as, s.dim, n)} }

// part returns the rows [lo, hi).
func (p page) part(lo, hi int) page { return page{p.ids[lo:hi], p.rows.Slice(lo, hi)} }

// add appends rows of another page.
func (p *page) add(o page) {
	p.ids = append(p.ids, o.ids...)
	p.rows.Join(o.rows)
}

// shape is that of all rows of a table: how many numbers they have, and how these are stored.
type shape struct {
	dim int
	as  narrow.Format
}

// layer holds the changes of one or several deltas.
type layer struct {
	page
	gone  []uint64 // dropped ids, ascending; an id that is in ids too has its row
	knows filter
}

func newLayer(p page, gone []uint64) *layer {
	l := &layer{page: p, gone: gone}
	l.knows = newFilter(l.size())
	l.knows.add(l)
	return l
}

// size returns the number of ids in the layer.
func (l *layer) size() int { return len(l.ids) + len(l.gone) }

// between returns the layer's changes of ids from lo on, and below hi if bound.
func (l *layer) between(lo, hi uint64, bound bool) (p page, gone []uint64) {
	from, to := span(l.ids, lo, hi, bound)
	first, last := span(l.gone, lo, hi, bound)
	return l.part(from, to), l.gone[first:last]
}

func span(ids []uint64, lo, hi uint64, bound bool) (from, to int) {
	from, _ = slices.BinarySearch(ids, lo)
	if to = len(ids); bound {
		to, _ = slices.BinarySearch(ids, hi)
	}
	return from, to
}

// over returns the layer under with l's changes applied.
func (l *layer) over(under *layer, s shape) *layer {
	gone := slices.Concat(under.gone, l.gone)
	slices.Sort(gone)
	return newLayer(under.with(l.page, l.gone, s), slices.Compact(gone))
}

// with returns p with the rows over in place of its own, and without the rows gone. A row that is in both is kept.
func (p page) with(over page, gone []uint64, s shape) page {
	n := len(p.ids)
	eachChange(p.ids, over.ids, gone, func(_, _, had, has int) { n += has - had })
	m, next := newPage(n, s), 0
	eachChange(p.ids, over.ids, gone, func(at, of, had, has int) {
		m.add(p.part(next, at))
		m.add(over.part(of, of+has))
		next = at + had
	})
	m.add(p.part(next, len(p.ids)))
	return m
}

// eachChange calls do for each id of over and gone, ascending: at is the id's place among the page's ids, had is 1 if
// the page has a row for it, else 0; of is its place in over, and has is 1 if over has a row for it.
func eachChange(ids, over, gone []uint64, do func(at, of, had, has int)) {
	at, of := 0, 0
	for of < len(over) || len(gone) > 0 {
		var id uint64
		had, has := 0, 0
		if len(gone) == 0 || of < len(over) && over[of] <= gone[0] {
			id, has = over[of], 1
		} else {
			id = gone[0]
		}
		if len(gone) > 0 && gone[0] == id {
			gone = gone[1:]
		}
		n, found := slices.BinarySearch(ids[at:], id)
		if at += n; found {
			had = 1
		}
		do(at, of, had, has)
		at, of = at+had, of+has
	}
}

func contains(sorted []uint64, id uint64) bool { _, is := slices.BinarySearch(sorted, id); return is }

// search finds an id in ascending ids. Ids are mostly hashes, or all below some number, so their places can be
// estimated by interpolation, which takes fewer accesses to memory than halving. A binary search finds what four
// estimates have not.
func search(ids []uint64, id uint64) (int, bool) {
	lo, hi := 0, len(ids)
	for range 4 {
		if hi-lo < 16 || id < ids[lo] || id > ids[hi-1] {
			break
		}
		share := float64(id-ids[lo]) / float64(ids[hi-1]-ids[lo])
		at := min(lo+int(share*float64(hi-1-lo)), hi-1)
		switch c := cmp.Compare(ids[at], id); {
		case c == 0:
			return at, true
		case c < 0:
			lo = at + 1
		default:
			hi = at
		}
	}
	at, found := slices.BinarySearch(ids[lo:hi], id)
	return lo + at, found
}
