package nn

import (
	"fmt"
	"maps"
	"slices"

	"gorgonia.org/tensor"
)

// feedBatch is a batch as the graph wants it: checked, with the ids of every table made unique.
type feedBatch struct {
	rows   int
	floats [][]float32 // by position in plan.feeds
	ids    [][]int64
	tables []*idSet // by index of the table
}

// load takes a batch over for a plan: its data is used in place until the step is over.
func (b *feedBatch) load(e *Executor, p *plan, batch map[string]*tensor.Dense) error {
	b.rows = -1
	b.floats, b.ids = grown(b.floats, len(p.feeds)), grown(b.ids, len(p.feeds))
	for i, c := range p.feeds {
		if err := b.loadFeed(i, c.node, batch); err != nil {
			return err
		}
	}
	b.rows = max(b.rows, 0)
	for _, l := range p.limits {
		if err := b.check(p, l); err != nil {
			return err
		}
	}
	b.collect(e, p)
	return nil
}

// loadFeed finds and checks one feed.
func (b *feedBatch) loadFeed(i int, n *Node, batch map[string]*tensor.Dense) error {
	t := batch[n.name]
	if t == nil {
		return fmt.Errorf("nn: feed %q is missing: the batch has %q", n.name, slices.Sorted(maps.Keys(batch)))
	}
	want := n.op.(feed)
	if t.Dtype() != want.Type.tensor() {
		return fmt.Errorf("nn: feed %q holds %v, the graph declares %s", n.name, t.Dtype(), want.Type)
	}
	shape := t.Shape()
	if len(shape) == 0 || !slices.Equal(shape[1:], want.Dims) {
		return fmt.Errorf("nn: feed %q has shape %v, the graph declares %s", n.name, shape, shapeString(n.shape))
	}
	if b.rows >= 0 && shape[0] != b.rows {
		return fmt.Errorf("nn: feed %q has %d examples, the feeds before it have %d", n.name, shape[0], b.rows)
	}
	if !isPlain(t) {
		return fmt.Errorf("nn: feed %q is a view or not row-major: feed its Materialize() or a Clone()", n.name)
	}
	b.rows = shape[0]
	if b.floats[i], b.ids[i] = nil, nil; want.Type == int64s {
		b.ids[i] = t.Int64s()
		return nil
	}
	b.floats[i] = t.Float32s()
	return nil
}

// isPlain says whether the tensor's memory is its elements in row-major order.
func isPlain(t *tensor.Dense) bool {
	size := t.Shape().TotalSize()
	return size == 0 || !t.RequiresIterator() && !t.DataOrder().IsColMajor()
}

func (d dtype) tensor() tensor.Dtype {
	if d == int64s {
		return tensor.Int64
	}
	return tensor.Float32
}

// check refuses ids that are negative or not below what an op sets.
func (b *feedBatch) check(p *plan, l limit) error {
	ids := b.ids[slices.Index(p.feeds, l.feed)]
	for i, id := range ids {
		if id < 0 || l.below > 0 && id >= l.below {
			return l.refuse(i, id)
		}
	}
	return nil
}

func (l limit) refuse(i int, id int64) error {
	n := l.feed.node
	row, column := i/n.perExample(), i%n.perExample()
	if id < 0 {
		return fmt.Errorf("nn: feed %q, row %d, column %d: %d is negative", n.name, row, column, id)
	}
	return fmt.Errorf("nn: feed %q, row %d, column %d: %d is not below %d, %s", n.name, row, column, id, l.below, l.why)
}

// collect brings together the ids of each table, lookup after lookup, and makes them unique.
func (b *feedBatch) collect(e *Executor, p *plan) {
	for len(b.tables) < len(e.tables) {
		b.tables = append(b.tables, &idSet{})
	}
	for _, s := range b.tables {
		s.reset()
	}
	for _, c := range p.lookups {
		s := b.tables[c.in[1].table.index]
		for _, id := range b.ids[slices.Index(p.feeds, c.in[0])] {
			s.ids = append(s.ids, uint64(id))
		}
	}
	for _, s := range b.tables {
		s.finish()
	}
}

// unique are the ids that the batch asks of a table, nil for no batch.
func (b *feedBatch) unique(t *table) []uint64 {
	if b == nil {
		return nil
	}
	return b.tables[t.index].unique
}

// take hands a lookup its part of its table's inverse; lookups come in the order of collect.
func (b *feedBatch) take(c *cell) []int32 {
	s := b.tables[c.in[1].table.index]
	n := c.node.in[0].perExample() * b.rows
	s.consumed += n
	return s.inverse[s.consumed-n : s.consumed]
}
