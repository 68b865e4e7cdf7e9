package exchange

import (
	"math/bits"

	"github.com/gofleet/gofleet/internal/kernels"
)

// maxOwed bounds the bytes that owed keeps for one embedding; a single push with more rows exceeds it.
const maxOwed = 64 << 20

// owed holds the rounding errors of an embedding's rows, by id. It has two generations of half of the bound each. Rows
// are stored in the young one, which becomes the old one when it is full; the rows of the old one, which were not
// pushed for longest, are dropped then. A dropped row loses at most half of a last place of its last push.
type owed struct {
	dim, limit int // limit is the most rows of a generation
	young, old generation
	slots      []int32 // slots in young of the rows of the push under way
}

func newOwed(dim int) owed { return owed{dim: dim, limit: max(1, maxOwed/2/(4*dim))} }

// add adds to the gradients g of ids what is owed to these rows.
func (o *owed) add(ids []uint64, g []float32) {
	if len(o.young.ids) > 0 && len(o.young.ids)+len(ids) > o.limit {
		o.young, o.old = o.old, o.young
		o.young.clear()
	}
	o.slots = o.slots[:0]
	for _, id := range ids {
		o.slots = append(o.slots, o.slot(id))
	}
	for i, slot := range o.slots {
		row := g[i*o.dim:][:o.dim]
		kernels.Add(row, row, o.young.row(slot, o.dim))
	}
}

// slot returns a row's slot in young. It copies the row from old, or adds it with nothing owed.
func (o *owed) slot(id uint64) int32 {
	slot, ok := o.young.find(id)
	if ok {
		return slot
	}
	slot = o.young.insert(id, o.dim)
	if before, ok := o.old.find(id); ok {
		copy(o.young.row(slot, o.dim), o.old.row(before, o.dim))
	}
	return slot
}

// keep stores left as what is owed to the rows of the last add.
func (o *owed) keep(left []float32) {
	for i, slot := range o.slots {
		copy(o.young.row(slot, o.dim), left[i*o.dim:])
	}
}

// generation is an open-addressed table of rows.
type generation struct {
	// 1 + slot, at the place of the id's hash or after it; 0 is free. Its length is a power of two; at most half are
	// used
	index []int32
	ids   []uint64
	data  []float32
}

func (t *generation) row(slot int32, dim int) []float32 { return t.data[int(slot)*dim:][:dim] }

// place returns the index of an id, or the one where it would go.
func (t *generation) place(id uint64) int {
	mask := len(t.index) - 1
	hi, lo := bits.Mul64(id^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
	at := int(hi^lo) & mask
	for t.index[at] != 0 && t.ids[t.index[at]-1] != id {
		at = (at + 1) & mask
	}
	return at
}

func (t *generation) find(id uint64) (slot int32, ok bool) {
	if len(t.ids) == 0 {
		return 0, false
	}
	slot = t.index[t.place(id)] - 1
	return slot, slot >= 0
}

// insert adds a row of zeros for a new id.
func (t *generation) insert(id uint64, dim int) int32 {
	if 2*len(t.ids) >= len(t.index) {
		t.grow()
	}
	at, slot := t.place(id), len(t.ids)
	t.ids = append(t.ids, id)
	t.index[at] = int32(slot + 1)
	if n := (slot + 1) * dim; n <= cap(t.data) {
		t.data = t.data[:n]
		clear(t.data[slot*dim:])
	} else {
		t.data = append(t.data, make([]float32, dim)...)
	}
	return int32(slot)
}

func (t *generation) grow() {
	t.index = make([]int32, max(64, 2*len(t.index)))
	ids := t.ids
	for slot, id := range ids {
		t.ids = ids[:slot+1]
		t.index[t.place(id)] = int32(slot + 1)
	}
}

func (t *generation) clear() {
	clear(t.index)
	t.ids, t.data = t.ids[:0], t.data[:0]
}
