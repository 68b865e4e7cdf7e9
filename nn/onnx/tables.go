package onnx

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
)

// mostListed is the largest number of rows of an embedding without a height, which are found by a list of their ids.
//
// ONNX Runtime 1.32 needs 0.3 s and 120 MB to load a file with this many rows of 8 numbers, and 25 ns to look an id up.
const mostListed = 1_000_000

// mostBytes is the largest size of the rows of an embedding with a height: all of them are written.
const mostBytes = 1 << 36

// table is an embedding as an initializer: rows by id if there is a height, else one after the other. A row of zeros
// may come last.
type table struct {
	param *optimizer.Param
	rows  int     // without the row of zeros
	ids   []int64 // for an embedding without a height, in the order of rows
	zero  bool    // some lookup needs the row of zeros
}

// table adds an embedding.
func (b *builder) table(p *optimizer.Param) {
	t := &table{param: p, rows: p.Height()}
	b.tables[p.Name] = t
	if p.Height() > mostBytes/4/p.Dim() {
		b.fail("embedding %q has a height of %d, whose rows of %d numbers are more than %d GiB: name it in Options."+
			"Rows, so that its rows are inputs", p.Name, p.Height(), p.Dim(), mostBytes>>30)
	}
	if p.Height() > 0 || p.Rows == nil || b.err != nil {
		return
	}
	err := p.Rows.EachRow(func(ids []uint64, _ []float32) error {
		if len(t.ids)+len(ids) > mostListed {
			return fmt.Errorf("it has no height, and more than the %d rows that a list of ids is good for: name it in "+
				"Options.Rows, so that its rows are inputs, or train it with a Height", mostListed)
		}
		for _, id := range ids {
			t.ids = append(t.ids, int64(id))
		}
		return nil
	})
	if t.rows = len(t.ids); err != nil {
		b.fail("embedding %q: %w", p.Name, err)
	}
}

// array returns the table as an initializer.
func (t *table) array() array {
	rows, dim := t.rows, t.param.Dim()
	if t.zero {
		rows++
	}
	return array{t.param.Name, float32Type, []int64{int64(rows), int64(dim)}, 4 * int64(rows) * int64(dim), t.write}
}

// write writes the rows: as saved, or, with a height, their initial values.
func (t *table) write(w io.Writer) error {
	dim := t.param.Dim()
	page := make([]float32, 0, max(1, pageBytes/4/dim)*dim)
	put := func(id uint64) error {
		row := page[len(page) : len(page)+dim]
		if page = page[:len(page)+dim]; !t.saved(row, id) {
			t.param.InitRow(row, id)
		}
		if len(page) < cap(page) {
			return nil
		}
		err := floats(page)(w)
		page = page[:0]
		return err
	}
	for _, id := range t.ids {
		if err := put(uint64(id)); err != nil {
			return err
		}
	}
	for id := range t.param.Height() {
		if err := put(uint64(id)); err != nil {
			return err
		}
	}
	if err := floats(page)(w); err != nil || !t.zero {
		return err
	}
	return floats(make([]float32, dim))(w)
}

// saved copies the row of an id, and reports whether there is one.
func (t *table) saved(row []float32, id uint64) bool {
	rows, ok := t.param.Rows.(interface {
		Row(w []float32, id uint64) bool
	})
	return ok && rows.Row(row, id)
}

// lookup is a lookup of a feed's ids in a table.
type lookup struct {
	feed, table node
	padding     *int64
}

// zero returns the place of the row of zeros.
func (b *builder) zero(l lookup) value {
	t := b.tables[l.table.name]
	t.zero = true
	return b.int(int64(t.rows))
}

// place returns the places of the rows of a feed's ids. Ids beyond a height get a place after all rows, which runtimes
// reject.
func (b *builder) place(l lookup) value {
	t, ids := b.tables[l.table.name], l.feed.value
	var at value
	switch {
	case t.param.Height() > 0:
		height := b.int(int64(t.param.Height()))
		outside := b.op("Or", b.op("Less", ids, b.int(0)), b.op("Equal", ids, height)) // from the end, or zeros
		at = b.where(outside, b.int(int64(t.param.Height())+1), ids)
	case len(t.ids) == 0:
		at = b.op("Add", b.op("Mul", ids, b.int(0)), b.zero(l))
	default:
		places := make([]int64, len(t.ids))
		for i := range places {
			places[i] = int64(i)
		}
		b.zero(l)
		at = b.op("LabelEncoder", ids, attr("keys_int64s", t.ids), attr("values_int64s", places),
			attr("default_int64", t.rows))
	}
	if l.padding != nil {
		at = b.where(b.op("Equal", ids, b.int(*l.padding)), b.zero(l), at)
	}
	return at
}

// looked returns the rows of a feed's ids, with one more dimension. For a slot with a window it returns the rows of the
// window's positions, zeros for positions without an id.
func (b *builder) looked(l lookup, w *window) value {
	dim := l.table.shape[1]
	if slices.Contains(b.rows, l.table.name) {
		name := b.bringRows(l)
		b.feed(input{name, float32Type, append(dimsOf(l.feed), dim)})
		if w == nil {
			return name
		}
		return b.op("Gather", b.op("Concat", name, b.repeated(0, 1, dim), attr("axis", 0)), w.at)
	}
	at := b.place(l)
	if w != nil {
		at = b.through(*w, at, b.op("Unsqueeze", b.zero(l), b.ints(0)))
	}
	return b.op("Gather", value(l.table.name), at)
}

// bringRows returns the name of the input with the rows of a feed's ids; it must be unused otherwise.
func (b *builder) bringRows(l lookup) value {
	name, of := value(l.feed.name+"."+l.table.name), [2]string{l.feed.name, l.table.name}
	if is, there := b.brought[name]; there && is != of || !there && b.names[string(name)] {
		b.fail("embedding %q of Options.Rows needs an input %q, and something else has this name", l.table.name, name)
	}
	b.brought[name] = of
	return name
}

// window is the places of a slot's ids for the positions [N L] of a sequence: at is the place, after all ids if there
// is none, and valid marks positions with an id.
type window struct {
	at, valid value
	count     value // of an example's ids, [N]
}

// window returns the positions of a slot: most positions, for the last ids of an example, or as many as the longest
// example has if most is 0.
func (b *builder) window(slot node, most int) window {
	offsets := slot.value + offsets
	from, to := b.slice(offsets, 0, 0, -1), b.slice(offsets, 0, 1, math.MaxInt64)
	w := window{count: b.op("Sub", to, from)}
	length := b.int(int64(most))
	if most > 0 {
		from = b.op("Max", from, b.op("Sub", to, length))
	} else {
		length = b.largest(b.op("Concat", w.count, b.ints(1), attr("axis", 0)), 0)
	}
	at := b.op("Add", b.unsqueeze(from, 1), b.op("Range", b.int(0), length, b.int(1)))
	w.valid = b.op("Less", at, b.unsqueeze(to, 1))
	w.at = b.where(w.valid, at, b.slice(offsets, 0, -1, math.MaxInt64))
	return w
}

// through gathers a slot's values at the positions of a window; none, of shape [1], is the value without an id.
func (b *builder) through(w window, values, none value) value {
	return b.op("Gather", b.op("Concat", values, none, attr("axis", 0)), w.at)
}

// kept marks the positions of a window with an id that is no padding.
func (b *builder) kept(w window, slot value, padding *int64) value {
	if padding == nil {
		return w.valid
	}
	return b.op("And", w.valid, b.through(w, b.isNot(slot, b.int(*padding)), b.cast(b.ints(0), boolType)))
}

type lookupAttrs struct {
	PaddingIdx *int64 `json:"padding_idx"`
	Pool       nn.Pool
	Length     int
	Count      bool
}

func embedding(b *builder, n node, a lookupAttrs) value {
	return b.reshape(b.looked(lookup{n.in[0], n.in[1], a.PaddingIdx}, nil), n.shape...)
}

func embeddingSequence(b *builder, n node, a lookupAttrs) value {
	l := lookup{n.in[0], n.in[1], a.PaddingIdx}
	if l.feed.kind == nn.Int64 {
		return b.reshape(b.looked(l, nil), n.shape...)
	}
	w := b.window(l.feed, a.Length)
	return b.looked(l, &w)
}

// sequenceMask is 1 for an id that is no padding, or its number among these.
func sequenceMask(b *builder, n node, a lookupAttrs) value {
	ids := n.in[0]
	var kept value
	switch {
	case ids.kind != nn.Int64:
		kept = b.kept(b.window(ids, a.Length), ids.value, a.PaddingIdx)
	case a.PaddingIdx != nil:
		kept = b.isNot(b.reshape(ids.value, n.shape...), b.int(*a.PaddingIdx))
	default:
		kept = b.op("Equal", b.reshape(ids.value, n.shape...), ids.value)
	}
	mask := b.cast(kept, float32Type)
	if !a.Count {
		return mask
	}
	return b.op("Mul", mask, b.op("CumSum", mask, b.int(1)))
}

// embeddingPool pools the rows of a slot's positions, which are zeros without an id, and for padding.
func embeddingPool(b *builder, n node, a lookupAttrs) value {
	l := lookup{n.in[0], n.in[1], a.PaddingIdx}
	w := b.window(l.feed, 0)
	rows, kept := b.looked(l, &w), b.kept(w, l.feed.value, a.PaddingIdx)
	if a.Pool == nn.PoolMax {
		return b.maxPool(rows, kept)
	}
	counted := w.valid // including padding
	if a.Pool == nn.PoolMeanUnpadded {
		counted = kept
	}
	weights := b.cast(counted, float64Type)
	if len(n.in) > 2 {
		values := b.through(w, n.in[2].value, b.op("Unsqueeze", b.float(0), b.ints(0)))
		rows = b.op("Mul", rows, b.unsqueeze(values, 2))
		weights = b.op("Mul", weights, b.cast(values, float64Type))
	}
	return b.weighed(b.sum(rows, 1), weights, a.Pool)
}

// maxPool is the largest of the kept rows [N L D], or zeros.
func (b *builder) maxPool(rows, kept value) value {
	top := b.largest(b.where(b.unsqueeze(kept, 2), rows, b.float(lowest)), 1)
	any := b.op("Greater", b.sum(b.cast(kept, float32Type), 1), b.float(0))
	return b.where(b.unsqueeze(any, 1), top, b.float(0))
}

// weighed divides a sum of rows [N D] as the pool requires, by their weights [N L], which are float64.
func (b *builder) weighed(sum, weights value, pool nn.Pool) value {
	if pool == nn.PoolSum {
		return sum
	}
	total, squares := b.sum(weights, 1), b.sum(b.op("Mul", weights, weights), 1)
	by := total
	if pool == nn.PoolSqrtN {
		by = b.op("Sqrt", squares)
	}
	none := b.op("Or", b.op("Equal", total, b.double(0)), b.op("Equal", squares, b.double(0)))
	by = b.cast(b.where(none, b.double(1), by), float32Type)
	return b.where(b.unsqueeze(none, 1), b.float(0), b.op("Div", sum, b.unsqueeze(by, 1)))
}

func sequencePool(b *builder, n node, a lookupAttrs) value {
	rows, places := n.in[0].value, float64(n.in[0].shape[1])
	if len(n.in) > 1 {
		kept := b.isNot(n.in[1].value, b.float(0))
		if a.Pool == nn.PoolMax {
			return b.maxPool(rows, kept)
		}
		rows = b.where(b.unsqueeze(kept, 2), rows, b.float(0))
		return b.weighed(b.sum(rows, 1), b.cast(kept, float64Type), a.Pool)
	}
	switch a.Pool {
	case nn.PoolMax:
		return b.largest(rows, 1)
	case nn.PoolSum:
		places = 1
	case nn.PoolSqrtN:
		places = math.Sqrt(places)
	}
	return b.op("Div", b.sum(rows, 1), b.float(float32(places)))
}
