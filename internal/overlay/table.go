package overlay

import (
	bin "encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/kernels"
)

// Table holds the rows of an embedding. Its rows never change, and any number of goroutines may read them.
type Table struct {
	shape
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

func newTable(s shape, k *kept) *Table {
	t := &Table{shape: s}
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

// Has reports whether an id has a row.
func (t *Table) Has(id uint64) bool {
	k := t.now.Load()
	has, known := k.changedRow(nil, id)
	return has || !known && k.row(nil, id)
}

// Rows copies the rows of ids to w, concatenated, and calls absent with the index of each id that has none.
func (t *Table) Rows(w []float32, ids []uint64, absent func(i int)) {
	k := t.now.Load()
	for from := 0; from < len(ids); from += 64 {
		some := ids[from:min(from+64, len(ids))]
		known := k.known(some)
		for i, id := range some {
			at, found, has := from+i, false, false
			row := w[at*t.dim : (at+1)*t.dim]
			if known&(1<<i) != 0 {
				has, found = k.changedRow(row, id)
			}
			if !found {
				has = k.row(row, id)
			}
			if !has {
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
		if k.knows.mayHave(kernels.Mix(id)) {
			bits |= 1 << i
		}
	}
	return bits
}

// row copies the row of an id in its page to w, unless that is nil, and reports whether there is one.
func (k *kept) row(w []float32, id uint64) bool {
	p := &k.pages[k.pageOf(id)]
	at, has := search(p.ids, id)
	if has && w != nil {
		p.rows.Copy(w, at)
	}
	return has
}

// changedRow copies the row of an id in the newest layer that contains it to w, as row does; has is false if it
// is dropped there.
func (k *kept) changedRow(w []float32, id uint64) (has, known bool) {
	h := kernels.Mix(id)
	for i := len(k.layers) - 1; i >= 0; i-- {
		l := k.layers[i]
		if !l.knows.mayHave(h) {
			continue
		}
		if at, ok := search(l.ids, id); ok {
			if w != nil {
				l.rows.Copy(w, at)
			}
			return true, true
		}
		if contains(l.gone, id) {
			return false, true
		}
	}
	return false, false
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
	k, ids, w := t.now.Load(), make([]uint64, 0, rowsAtOnce), make([]float32, rowsAtOnce*t.dim)
	flush := func() error {
		if len(ids) == 0 {
			return nil
		}
		err := do(ids, w[:len(ids)*t.dim])
		ids = ids[:0]
		return err
	}
	for i, p := range k.pages {
		for _, l := range k.layers {
			p = k.changed(p, l, i, t.shape)
		}
		for from := 0; from < len(p.ids); {
			to := min(len(p.ids), from+rowsAtOnce-len(ids))
			some := p.part(from, to)
			some.rows.All(w[len(ids)*t.dim:])
			ids = append(ids, some.ids...)
			if from = to; len(ids) == rowsAtOnce {
				if err := flush(); err != nil {
					return err
				}
			}
		}
	}
	return flush()
}

// changed returns p, page i, with a layer's changes of its ids.
func (k *kept) changed(p page, l *layer, i int, s shape) page {
	lo, hi, bound := k.bounds(i)
	over, gone := l.between(lo, hi, bound)
	if len(over.ids)+len(gone) == 0 {
		return p
	}
	return p.with(over, gone, s)
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
