package overlay

import (
	"cmp"
	bin "encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"sync/atomic"
)

// Table has the rows of an embedding. Its rows never change, and any number of goroutines may read them.
type Table struct {
	dim    int
	now    atomic.Pointer[kept]
	before string // what Before says, empty where that is String
}

// kept is how a table is kept at a moment. It never changes: folding makes another of the same rows.
type kept struct {
	pages  []page
	firsts []uint64 // of pages: the first id, and 0 of the first page
	layers []*layer // the oldest first
	knows  filter   // what any layer knows: most rows are in none
	// folded is how many pages have the oldest layer in them already.
	folded int
}

func newTable(dim int, k *kept) *Table {
	t := &Table{dim: dim}
	t.now.Store(k)
	return t
}

// bounds are the ids from lo on that belong into a page, and below hi where there is such a bound.
func (k *kept) bounds(i int) (lo, hi uint64, bound bool) {
	if i+1 < len(k.firsts) {
		return k.firsts[i], k.firsts[i+1], true
	}
	return k.firsts[i], 0, false
}

// count is about how many rows there are in pages, and how many ids in layers.
func (k *kept) count() (rows, changes int) {
	for _, p := range k.pages {
		rows += len(p.ids)
	}
	for _, l := range k.layers {
		changes += l.size()
	}
	return rows, changes
}

// Row copies the row of an id to w, of dim numbers, and says whether there is one.
func (t *Table) Row(w []float32, id uint64) bool {
	there := true
	t.Rows(w, []uint64{id}, func(int) { there = false })
	return there
}

// Rows copies the rows of ids to w, one behind the other, and calls absent for each id that has none, by its place
// among the ids.
func (t *Table) Rows(w []float32, ids []uint64, absent func(i int)) {
	k := t.now.Load()
	for from := 0; from < len(ids); from += 64 {
		some := ids[from:min(from+64, len(ids))]
		known := k.known(some)
		for i, id := range some {
			row, found := []float32(nil), false
			if known&(1<<i) != 0 {
				row, found = k.changedRow(id, t.dim)
			}
			if !found {
				row = k.row(id, t.dim)
			}
			if at := from + i; row != nil {
				copy(w[at*t.dim:(at+1)*t.dim], row)
			} else {
				absent(at)
			}
		}
	}
}

// known are the ids, up to 64, that a layer may know, as bits. All are asked for at once, so that looks into memory
// don't wait for each other.
func (k *kept) known(ids []uint64) (bits uint64) {
	if len(k.layers) == 0 {
		return 0
	}
	for i, id := range ids {
		if k.knows.mayHave(mixed(id)) {
			bits |= 1 << i
		}
	}
	return bits
}

// row is the row of an id in its page, nil if there is none.
func (k *kept) row(id uint64, dim int) []float32 {
	p := k.pages[k.pageOf(id)]
	if at, ok := search(p.ids, id); ok {
		return p.row(at, dim)
	}
	return nil
}

// changedRow is the row of an id in the newest layer that knows it, nil if it is gone.
func (k *kept) changedRow(id uint64, dim int) (row []float32, known bool) {
	h := mixed(id)
	for i := len(k.layers) - 1; i >= 0; i-- {
		l := k.layers[i]
		if !l.knows.mayHave(h) {
			continue
		}
		if at, ok := search(l.ids, id); ok {
			return l.row(at, dim), true
		}
		if contains(l.gone, id) {
			return nil, true
		}
	}
	return nil, false
}

// under has a layer over all others.
func (k *kept) under(l *layer) *kept {
	next := *k
	next.layers = append(slices.Clip(k.layers), l)
	_, n := next.count()
	if next.knows.holds(n) {
		next.knows = slices.Clone(k.knows)
		next.knows.add(l)
	} else {
		next.learn(n + n/2)
	}
	return &next
}

// learn makes the filter of all layers anew, with room for so many ids.
func (k *kept) learn(room int) {
	k.knows = newFilter(room)
	for _, l := range k.layers {
		k.knows.add(l)
	}
}

// pageOf is the page in which an id would be.
func (k *kept) pageOf(id uint64) int {
	i, found := search(k.firsts, id)
	if found {
		return i
	}
	return i - 1 // the first is of all ids
}

// rowsAtOnce is how many rows EachRow gives at a time.
const rowsAtOnce = 4096

// EachRow calls do with all ids and their rows, by ascending id and 4096 at a time, until do fails, whose error it
// returns. The slices are do's until it returns.
func (t *Table) EachRow(do func(ids []uint64, w []float32) error) error {
	k, some := t.now.Load(), newPage(rowsAtOnce, t.dim)
	flush := func() error {
		if len(some.ids) == 0 {
			return nil
		}
		err := do(some.ids, some.rows)
		some.ids, some.rows = some.ids[:0], some.rows[:0]
		return err
	}
	for i, p := range k.pages {
		for _, l := range k.layers {
			p = k.changed(p, l, i, t.dim)
		}
		for from := 0; from < len(p.ids); {
			to := min(len(p.ids), from+rowsAtOnce-len(some.ids))
			some.add(p.part(from, to, t.dim))
			if from = to; len(some.ids) == rowsAtOnce {
				if err := flush(); err != nil {
					return err
				}
			}
		}
	}
	return flush()
}

// changed is the i-th page, or what came of it, with what a layer knows of its ids.
func (k *kept) changed(p page, l *layer, i, dim int) page {
	lo, hi, bound := k.bounds(i)
	over, gone := l.between(lo, hi, bound, dim)
	if len(over.ids)+len(gone) == 0 {
		return p
	}
	return p.with(over, gone, dim)
}

// String tells this table from others, by the number of rows and a checksum of ids and values. However a table is kept,
// and whatever it was read from, the same rows have the same.
func (t *Table) String() string {
	sum, n := crc32.New(crc32.MakeTable(crc32.Castagnoli)), 0
	_ = t.EachRow(func(ids []uint64, w []float32) error { // a hash takes everything
		n += len(ids)
		return errors.Join(bin.Write(sum, bin.LittleEndian, ids), bin.Write(sum, bin.LittleEndian, w))
	})
	return fmt.Sprintf("%d loaded rows (sum %08x)", n, sum.Sum32())
}

// Before is String as earlier builds had it, by which their journals name a job: of rows in the order in which they
// were read.
func (t *Table) Before() string { return cmp.Or(t.before, t.String()) }
