package overlay

import (
	bin "encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"sync/atomic"
)

// Table holds the rows of an embedding. Its rows never change, and any number of goroutines may read them.
type Table struct {
	dim int
	now atomic.Pointer[kept]
}

// kept is the stored form of a table. It never changes: folding makes another one with the same rows.
type kept struct {
	pages  []page
	firsts []uint64 // by page: its first id, and 0 for the first page
	layers []*layer // the oldest first
	knows  filter   // the ids of all layers: most rows are in none
	// folded is how many pages have the oldest layer merged in.
	folded int
}

func newTable(dim int, k *kept) *Table {
	t := &Table{dim: dim}
	t.now.Store(k)
	return t
}

// bounds returns the range of ids of page i: from lo on, and below hi if bound.
func (k *kept) bounds(i int) (lo, hi uint64, bound bool) {
	if i+1 < len(k.firsts) {
		return k.firsts[i], k.firsts[i+1], true
	}
	return k.firsts[i], 0, false
}

// count returns the number of rows in pages, and of ids in layers.
func (k *kept) count() (rows, changes int) {
	for _, p := range k.pages {
		rows += len(p.ids)
	}
	for _, l := range k.layers {
		changes += l.size()
	}
	return rows, changes
}

// Row copies the row of an id to w, of dim numbers, and reports whether there is one.
func (t *Table) Row(w []float32, id uint64) bool {
	there := true
	t.Rows(w, []uint64{id}, func(int) { there = false })
	return there
}

// Rows copies the rows of ids to w, concatenated, and calls absent with the index of each id that has none.
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

// known returns, as bits, which of up to 64 ids a layer may contain. It tests all at once, so that accesses to memory
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

// row returns the row of an id in its page, nil if there is none.
func (k *kept) row(id uint64, dim int) []float32 {
	p := k.pages[k.pageOf(id)]
	if at, ok := search(p.ids, id); ok {
		return p.row(at, dim)
	}
	return nil
}

// changedRow returns the row of an id in the newest layer that contains it, nil if it is dropped there.
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

// under returns k with the layer l over all others.
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

// learn builds the filter of all layers anew, with room for that many ids.
func (k *kept) learn(room int) {
	k.knows = newFilter(room)
	for _, l := range k.layers {
		k.knows.add(l)
	}
}

// pageOf returns the page to which an id belongs.
func (k *kept) pageOf(id uint64) int {
	i, found := search(k.firsts, id)
	if found {
		return i
	}
	return i - 1 // firsts[0] is 0, so i > 0
}

// rowsAtOnce is how many rows EachRow passes at a time.
const rowsAtOnce = 4096

// EachRow calls do with all ids and their rows, by ascending id and 4096 at a time, until do fails; it returns do's
// error. The slices are valid until do returns.
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

// changed returns p, page i, with a layer's changes of its ids.
func (k *kept) changed(p page, l *layer, i, dim int) page {
	lo, hi, bound := k.bounds(i)
	over, gone := l.between(lo, hi, bound, dim)
	if len(over.ids)+len(gone) == 0 {
		return p
	}
	return p.with(over, gone, dim)
}

// String describes the table by its number of rows and a checksum of ids and values. Tables with the same rows have the
// same String, however they are stored and whatever they were read from.
func (t *Table) String() string {
	sum, n := crc32.New(crc32.MakeTable(crc32.Castagnoli)), 0
	_ = t.EachRow(func(ids []uint64, w []float32) error { // a hash takes everything
		n += len(ids)
		return errors.Join(bin.Write(sum, bin.LittleEndian, ids), bin.Write(sum, bin.LittleEndian, w))
	})
	return fmt.Sprintf("%d loaded rows (sum %08x)", n, sum.Sum32())
}
