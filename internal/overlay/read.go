package overlay

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gofleet/gofleet/internal/narrow"
)

// Rows calls do with ids and their rows until all were passed or do fails; it returns do's error.
// [modelfiles.Files.Rows] does this for an embedding.
type Rows func(do func(ids []uint64, w []float32) error) error

// Read returns a table of n rows, which may come in any order, stored as a format says. An id that comes twice is an
// error.
func Read(dim, n int, as narrow.Format, rows Rows) (*Table, error) {
	s := shape{dim, as}
	pages, err := read(s, n, pageRows, rows)
	if err != nil {
		return nil, err
	}
	t := newTable(s, &kept{pages: pages})
	if !ascend(pages) {
		if err := sortRows(pages, pageRows); err != nil {
			return nil, err
		}
	}
	k := &kept{pages: pages, firsts: make([]uint64, len(pages))}
	for i, p := range pages[1:] {
		k.firsts[i+1] = p.ids[0]
	}
	t.now.Store(k)
	return t, nil
}

// With returns a table with n other rows over its own, and without the rows of the ids gone, which must ascend. t does
// not change.
func (t *Table) With(n int, rows Rows, gone []uint64) (*Table, error) {
	if !slices.IsSorted(gone) {
		return nil, errors.New("the ids of rows that are gone do not ascend")
	}
	pages, err := read(t.shape, n, math.MaxInt, rows)
	if err == nil && !ascend(pages) {
		err = sortRows(pages, math.MaxInt)
	}
	if err != nil {
		return nil, err
	}
	next := newTable(t.shape, t.now.Load())
	if l := newLayer(pages[0], gone); l.size() > 0 {
		next.now.Store(next.now.Load().under(l))
	}
	for next.crowded() && next.Fold(0) {
	}
	return next, nil
}

// read returns pages of perPage rows, at least one page, in the order in which rows come.
func read(s shape, n, perPage int, rows Rows) (pages []page, err error) {
	pages = []page{newPage(min(n, perPage), s)}
	err = rows(func(ids []uint64, w []float32) error {
		if len(w) != len(ids)*s.dim {
			return fmt.Errorf("its rows have %d numbers, the graph's %d", len(w)/max(1, len(ids)), s.dim)
		}
		if err := s.as.Fits(w); err != nil { // of a delta in another format
			return err
		}
		for len(ids) > 0 {
			last := &pages[len(pages)-1]
			if len(last.ids) == perPage {
				pages = append(pages, newPage(min(max(n-len(pages)*perPage, 1), perPage), s))
				last = &pages[len(pages)-1]
			}
			some := min(len(ids), perPage-len(last.ids))
			last.ids = append(last.ids, ids[:some]...)
			last.rows.Append(w[:some*s.dim])
			ids, w = ids[some:], w[some*s.dim:]
		}
		return nil
	})
	return pages, err
}

// ascend reports whether ids ascend, from one page to the next.
func ascend(pages []page) bool {
	last, first := uint64(0), true
	for _, p := range pages {
		for _, id := range p.ids {
			if !first && id <= last {
				return false
			}
			last, first = id, false
		}
	}
	return true
}

// sortRows sorts rows in place. An id that comes twice is an error, since it is not clear which row counts.
func sortRows(pages []page, perPage int) error {
	n := 0
	for _, p := range pages {
		n += len(p.ids)
	}
	idOf := func(i int) uint64 { return pages[i/perPage].ids[i%perPage] }
	set := func(i int, o page, j int) {
		p := &pages[i/perPage]
		p.ids[i%perPage] = o.ids[j]
		p.rows.Set(i%perPage, o.rows, j)
	}
	order := make([]int, n) // the row for each place
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(idOf(a), idOf(b)) })
	for i := 1; i < n; i++ {
		if id := idOf(order[i]); id == idOf(order[i-1]) {
			return fmt.Errorf("the row of id %d comes twice: remove one", id)
		}
	}
	for first := range order { // each cycle of the permutation
		of := pages[first/perPage].part(first%perPage, first%perPage+1)
		held := page{slices.Clone(of.ids), of.rows.Clone()}
		for i := first; order[i] >= 0; {
			from := order[i]
			order[i] = -1
			if from == first {
				set(i, held, 0)
				break
			}
			set(i, pages[from/perPage], from%perPage)
			i = from
		}
	}
	return nil
}
