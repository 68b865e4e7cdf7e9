package nn

import (
	"errors"
	"fmt"
	"math"
)

// counts are the feeds with the shows and clicks of a table's rows; either may be nil.
type counts struct{ show, click *Node }

func (c counts) any() bool { return c.show != nil || c.click != nil }

// feeds returns the feeds of shows and clicks.
func (c counts) feeds() (all []*Node) {
	for _, n := range []*Node{c.show, c.click} {
		if n != nil {
			all = append(all, n)
		}
	}
	return all
}

// check returns what is wrong with the feeds of a table of this graph.
func (c counts) check(g *Graph, o EmbeddingOptions) error {
	if c.any() && !o.Entry.Counts() {
		return errors.New("Show and Click need an Entry with ShowClick: nothing else counts them")
	}
	for _, n := range c.feeds() {
		switch _, ok := n.op.(feed); {
		case n.graph != g:
			return fmt.Errorf("%s, which counts shows or clicks, belongs to another graph", n.placed())
		case !ok || varies(n) || n.perExample() != 1:
			return fmt.Errorf("%s can't count shows or clicks: that is a feed of one number an example", n.placed())
		}
	}
	return nil
}

// counting returns the feeds of counts for the tables on which the nodes depend.
func (g *Graph) counting(nodes []*Node) (feeds []*Node) {
	if len(g.counts) == 0 {
		return nil
	}
	for _, n := range behind(g, nodes) {
		feeds = append(feeds, g.counts[n.name].feeds()...)
	}
	return feeds
}

// countBatch adds up the shows and clicks of every row in the batch: an id that an example has twice is shown twice.
func (e *engine) countBatch(p *plan, b *feedBatch) {
	if !p.train || len(e.graph.counts) == 0 {
		return
	}
	for _, t := range e.held.tables {
		t.clearCounts(e.graph.counts[t.param.Name])
	}
	for _, c := range p.lookups {
		if c.beside {
			continue
		}
		t := c.in[1].table
		from := e.graph.counts[t.param.Name]
		if !from.any() {
			continue
		}
		show, click := b.numbers(p, from.show, 1), b.numbers(p, from.click, 0)
		c.eachID(func(example int, row int32) {
			t.rows.Show[row] += show(example)
			t.rows.Click[row] += click(example)
		})
	}
}

// clearCounts sets the counts to zero, if the table has feeds of counts.
func (t *table) clearCounts(from counts) {
	if !from.any() {
		return
	}
	n := len(t.rows.IDs)
	t.show, t.click = grown(t.show, n), grown(t.click, n)
	clear(t.show)
	clear(t.click)
	t.rows.Show, t.rows.Click = t.show, t.click
}

// numbers returns a feed's number of each example; without a feed all have the same.
func (b *feedBatch) numbers(p *plan, n *Node, same float32) func(example int) float32 {
	for i, c := range p.feeds {
		if c.node != n {
			continue
		}
		if isInt(n) {
			return func(example int) float32 { return float32(b.ids[i][example]) }
		}
		return func(example int) float32 { return b.floats[i][example] }
	}
	return func(int) float32 { return same }
}

// eachID calls f for every id of a lookup: with its example and its row in the step. Padding has no row.
func (c *cell) eachID(f func(example int, row int32)) {
	ids, next := c.in[0], 0
	length := math.MaxInt
	if s, ok := c.node.op.(embeddingSequence); ok {
		length = s.Length
	} else if !isSlot(ids.node) {
		length = ids.node.perExample()
	}
	for example := range c.rows() {
		_, n := kept(ids, example, length)
		for _, row := range c.index[next : next+n] {
			if row >= 0 {
				f(example, row)
			}
		}
		next += n
	}
}
