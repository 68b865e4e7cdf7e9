package overlay

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Rows calls do with ids and their rows until all were passed or do fails; it returns do's error.
// [modelfiles.Files.Rows] does this for an embedding.
type Rows func(do func(ids []uint64, w []float32) error) error

// Read returns a table of n rows, which may come in any order. An id that comes twice is an error.
func Read(dim, n int, rows Rows) (*Table, error) {
	pages, err := read(dim, n, pageRows, rows)
	if err != nil {
		return nil, err
	}
	t := newTable(dim, &kept{pages: pages})
	if !ascend(pages) {
		if err := sortRows(pages, pageRows, dim); err != nil {
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
	pages, err := read(t.dim, n, math.MaxInt, rows)
	if err == nil && !ascend(pages) {
		err = sortRows(pages, math.MaxInt, t.dim)
	}
	if err != nil {
		return nil, err
	}
	next := newTable(t.dim, t.now.Load())
	if l := newLayer(pages[0], gone); l.size() > 0 {
		next.now.Store(next.now.Load().under(l))
	}
	for next.crowded() && next.Fold(0) {
	}
	return next, nil
}

// read returns pages of perPage rows, at least one page, in the order in which rows come.
func read(dim, n, perPage int, rows Rows) (pages []page, err error) {
	pages = []page{newPage(min(n, perPage), dim)}
	err = rows(func(ids []uint64, w []float32) error {
		if len(w) != len(ids)*dim {
			return fmt.Errorf("its rows have %d numbers, the graph's %d", len(w)/max(1, len(ids)), dim)
		}
		for all := (page{ids, w}); len(all.ids) > 0; {
			last := &pages[len(pages)-1]
			if len(last.ids) == perPage {
				pages = append(pages, newPage(min(max(n-len(pages)*perPage, 1), perPage), dim))
				last = &pages[len(pages)-1]
			}
			some := min(len(all.ids), perPage-len(last.ids))
			last.add(all.part(0, some, dim))
			all = all.part(some, len(all.ids), dim)
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
func sortRows(pages []page, perPage, dim int) error {
	n := 0
	for _, p := range pages {
		n += len(p.ids)
	}
	at := func(i int) (*uint64, []float32) {
		p := pages[i/perPage]
		return &p.ids[i%perPage], p.row(i%perPage, dim)
	}
	idOf := func(i int) uint64 { id, _ := at(i); return *id }
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
	held := make([]float32, dim)
	for first := range order { // each cycle of the permutation
		id, row := at(first)
		heldID := *id
		copy(held, row)
		for i := first; order[i] >= 0; {
			from := order[i]
			order[i] = -1
			to, w := at(i)
			if from == first {
				*to = heldID
				copy(w, held)
				break
			}
			id, row := at(from)
			*to = *id
			copy(w, row)
			i = from
		}
	}
	return nil
}
