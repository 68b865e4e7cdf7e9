package nn

import (
	"fmt"
	"maps"
	"slices"

	"gorgonia.org/tensor"
)

// feedBatch is a checked batch, with the ids of every table made unique.
type feedBatch struct {
	rows    int
	floats  [][]float32 // by position in plan.feeds
	ids     [][]int64
	wide    []bool            // ids that were fed as uint64: ids from 2⁶³ on are negative here
	offsets [][]int64         // of slots
	places  []placer          // nil for a feed that has no record of the origin of its rows
	tables  []*tableIDs       // by index of the table
	kept    map[*cell][]int64 // for lookups of sequences: the ids of a slot that have a position
	raw     bool              // its ids were not collected yet
}

// placer is the engine of a tensor that records the origin of its rows, such as those of package dataset.
type placer interface {
	// Place returns the file and line of an example, or the like; "" if unknown.
	Place(row int) string
}

// where returns the place of an example of a feed for a message, after a blank. For a feed without places it takes that
// of another feed.
func (b *feedBatch) where(feed, row int) string {
	for _, p := range append([]placer{b.places[feed]}, b.places...) {
		if p == nil {
			continue
		}
		if place := p.Place(row); place != "" {
			return " (" + place + ")"
		}
	}
	return ""
}

// load takes a batch for a plan: its data is used in place until the step is over.
func (b *feedBatch) load(e *engine, p *plan, batch map[string]*tensor.Dense) error {
	if err := b.take(p, batch); err != nil {
		return err
	}
	b.collect(e, p)
	return nil
}

// take finds and checks the feeds of a batch.
func (b *feedBatch) take(p *plan, batch map[string]*tensor.Dense) error {
	b.rows = -1
	b.grow(len(p.feeds))
	for i := range p.feeds {
		if err := b.loadFeed(i, p, batch); err != nil {
			return err
		}
	}
	b.rows = max(b.rows, 0)
	for _, c := range p.lookups {
		if err := b.beside(p, c); err != nil {
			return err
		}
	}
	for i := range p.limits {
		if err := b.check(p, &p.limits[i]); err != nil {
			return err
		}
	}
	b.raw = true
	return nil
}

// beside returns an error if an example has more or fewer values than ids.
func (b *feedBatch) beside(p *plan, c *cell) error {
	if len(c.in) < 3 {
		return nil
	}
	slot, values := slices.Index(p.feeds, c.in[0]), slices.Index(p.feeds, c.in[2])
	for row := range b.rows {
		if ids, n := length(b.offsets[slot], row), length(b.offsets[values], row); ids != n {
			return fmt.Errorf("nn: feed %q%s, row %d%s: %d values for %d ids of %q", c.in[2].node.name,
				c.in[2].node.made, row, b.where(slot, row), n, ids, c.in[0].node.name)
		}
	}
	return nil
}

func length(offsets []int64, row int) int64 { return offsets[row+1] - offsets[row] }

// grow makes room for n feeds.
func (b *feedBatch) grow(n int) {
	b.floats, b.ids, b.wide, b.offsets = grown(b.floats, n), grown(b.ids, n), grown(b.wide, n), grown(b.offsets, n)
	b.places = grown(b.places, n)
}

// join sets b to the rows of batches that were read for the same plan, one after the other. It copies them.
func (b *feedBatch) join(parts []*feedBatch) {
	n := len(parts[0].floats)
	b.grow(n)
	b.rows = 0
	for i := range n {
		b.floats[i], b.ids[i], b.offsets[i], b.wide[i] = b.floats[i][:0], b.ids[i][:0], b.offsets[i][:0],
			parts[0].wide[i]
	}
	for _, part := range parts {
		b.rows += part.rows
		for i := range n {
			b.joinOffsets(i, part.offsets[i])
			b.floats[i] = append(b.floats[i], part.floats[i]...)
			b.ids[i] = append(b.ids[i], part.ids[i]...)
		}
	}
}

// joinOffsets appends the offsets of a slot's ids, which follow the ids of b. Other feeds have none.
func (b *feedBatch) joinOffsets(i int, offsets []int64) {
	if len(offsets) == 0 {
		return
	}
	if len(b.offsets[i]) > 0 {
		offsets = offsets[1:] // 0, the end of the part before
	}
	for _, o := range offsets {
		b.offsets[i] = append(b.offsets[i], int64(len(b.ids[i])+len(b.floats[i]))+o)
	}
}

// loadFeed finds and checks one feed.
func (b *feedBatch) loadFeed(i int, p *plan, batch map[string]*tensor.Dense) error {
	n := p.feeds[i].node
	b.floats[i], b.ids[i], b.wide[i], b.offsets[i], b.places[i] = nil, nil, false, nil, nil
	want := n.op.(feed).Type
	if t := batch[n.name]; t != nil && t.Dtype() == tensor.Uint64 && !slices.Contains(p.numbers, p.feeds[i]) {
		b.wide[i], want = true, wideIDs
	}
	t, err := find(batch, n, n.name, want)
	if err != nil {
		return err
	}
	b.places[i], _ = t.Engine().(placer)
	if varies(n) {
		return b.loadSlot(i, p.feeds[i], t, batch)
	}
	shape := t.Shape()
	if len(shape) == 0 || !slices.Equal(shape[1:], n.shape[1:]) {
		return fmt.Errorf("nn: feed %q has shape %v, the graph declares %s%s", n.name, shape, shapeString(n.shape),
			n.made)
	}
	if isInt(n) {
		b.ids[i] = t.Int64s() // a uint64 tensor has the same bits
	} else {
		b.floats[i] = t.Float32s()
	}
	return b.agree(n, shape[0])
}

// loadSlot finds and checks ids and offsets of a slot.
func (b *feedBatch) loadSlot(i int, c *cell, ids *tensor.Dense, batch map[string]*tensor.Dense) error {
	n := c.node
	offsets, err := find(batch, n, c.offsetsName, slots)
	if err != nil {
		return err
	}
	b.offsets[i] = offsets.Int64s()
	if isSlot(n) {
		b.ids[i] = ids.Int64s()
	} else {
		b.floats[i] = ids.Float32s()
	}
	if len(ids.Shape()) != 1 || len(offsets.Shape()) != 1 || !covers(b.offsets[i], ids.Shape()[0]) {
		return fmt.Errorf("nn: feed %q%s of shape %v: its offsets, of shape %v, have to rise from 0 to the number of "+
			"ids", n.name, n.made, ids.Shape(), offsets.Shape())
	}
	return b.agree(n, len(b.offsets[i])-1)
}

// covers reports whether offsets divide n ids into examples.
func covers(offsets []int64, n int) bool {
	return len(offsets) > 0 && offsets[0] == 0 && offsets[len(offsets)-1] == int64(n) && slices.IsSorted(offsets)
}

// find returns the tensor of that name for a feed, if its memory is plain and its type is right.
func find(batch map[string]*tensor.Dense, n *Node, name string, want DType) (*tensor.Dense, error) {
	t := batch[name]
	if t == nil {
		return nil, fmt.Errorf("nn: feed %q%s is missing: the batch has %q", name, n.made,
			slices.Sorted(maps.Keys(batch)))
	}
	if t.Dtype() != want.tensor() {
		advice := "" // about the side to change
		if want == Float32 {
			advice = ": feed float32, as a dataset.Floats column does, or declare whole numbers, by Graph.IDs"
		}
		return nil, fmt.Errorf("nn: feed %q holds %v, the graph declares %v%s%s", name, t.Dtype(), want.tensor(),
			n.made, advice)
	}
	if !isPlain(t) {
		return nil, fmt.Errorf("nn: feed %q%s is a view or not row-major: feed its Materialize() or a Clone()", name,
			n.made)
	}
	return t, nil
}

// agree checks the number of examples of a feed, which must be the same for all.
func (b *feedBatch) agree(n *Node, rows int) error {
	if rows == 0 {
		return fmt.Errorf("nn: feed %q%s has no examples: a batch needs 1 or more", n.name, n.made)
	}
	if b.rows >= 0 && rows != b.rows {
		return fmt.Errorf("nn: feed %q%s has %d examples, the feeds before it have %d", n.name, n.made, rows, b.rows)
	}
	b.rows = rows
	return nil
}

// isPlain reports whether the tensor's memory is its elements in row-major order.
func isPlain(t *tensor.Dense) bool {
	size := t.Shape().TotalSize()
	return size == 0 || !t.RequiresIterator() && !t.DataOrder().IsColMajor()
}

func (d DType) tensor() tensor.Dtype {
	switch d {
	case Float32, slotValues:
		return tensor.Float32
	case wideIDs:
		return tensor.Uint64
	}
	return tensor.Int64
}

// collect collects the ids of each table, lookup after lookup, and makes them unique.
func (b *feedBatch) collect(e *engine, p *plan) {
	b.raw = false
	for len(b.tables) < len(e.held.tables) {
		b.tables = append(b.tables, &tableIDs{})
	}
	for _, t := range b.tables {
		t.step.reset()
		t.beside.reset()
	}
	for _, c := range p.lookups {
		b.set(p, c).add(b.idsOf(p, c), b.padding(p, c))
	}
	for _, t := range b.tables {
		t.step.finish()
		if p.looks {
			t.beside.finish()
		}
	}
}

// padding is the id that a lookup leaves out, nil if the feed can't contain it.
func (b *feedBatch) padding(p *plan, c *cell) *int64 {
	id := c.node.op.(lookup).padding()
	if id != nil && *id < 0 && b.wide[slices.Index(p.feeds, c.in[0])] {
		return nil
	}
	return id
}

// set returns the ids that the batch needs from the table of a lookup, together with those of other lookups, and idsOf
// the ids of that lookup.
func (b *feedBatch) set(p *plan, c *cell) *idSet {
	t := b.tables[c.in[1].table.index]
	if p.train && c.beside {
		return &t.beside
	}
	return &t.step
}

func (b *feedBatch) idsOf(p *plan, c *cell) []int64 {
	feed := slices.Index(p.feeds, c.in[0])
	if s, ok := c.node.op.(embeddingSequence); ok && isSlot(c.in[0].node) {
		return b.cut(c, feed, s.Length)
	}
	return b.ids[feed]
}

// rowsOf returns the rows of a lookup's ids. Rows that are read beside the loss follow the others.
func (b *feedBatch) rowsOf(p *plan, c *cell) []int32 {
	index := b.set(p, c).rowsOf(c, b.idsOf(p, c), b.padding(p, c))
	if p.train && c.beside {
		behind := int32(len(b.unique(c.in[1].table)))
		for i, row := range index {
			if row >= 0 {
				index[i] = row + behind
			}
		}
	}
	return index
}

// unique returns the ids that the batch needs from a table, nil for no batch.
func (b *feedBatch) unique(t *table) []uint64 {
	if b == nil {
		return nil
	}
	return b.tables[t.index].step.unique
}

// check returns an error if values of a feed are out of bounds.
func (b *feedBatch) check(p *plan, l *limit) error {
	feed, at := l.at.node, slices.Index(p.feeds, l.at)
	i, wrong := l.first(b.ids[at], b.wide[at], b.floats[at])
	if i < 0 {
		return nil
	}
	row, column := position(feed, b.offsets[at], i)
	return fmt.Errorf("nn: feed %q%s, row %d, column %d%s: %s", feed.name, feed.made, row, column, b.where(at, row),
		wrong)
}

// cut returns the ids of a slot: of each example only the last length.
func (b *feedBatch) cut(c *cell, feed, length int) []int64 {
	offsets, ids := b.offsets[feed], b.ids[feed]
	if b.kept == nil {
		b.kept = map[*cell][]int64{}
	}
	kept := b.kept[c][:0]
	for i, from := range offsets[:max(0, len(offsets)-1)] {
		kept = append(kept, ids[max(from, offsets[i+1]-int64(length)):offsets[i+1]]...)
	}
	b.kept[c] = kept
	return kept
}
