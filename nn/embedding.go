package nn

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/optimizer"
)

// EmbeddingOptions are the options of an embedding table.
type EmbeddingOptions struct {
	// Name is the table's name; empty means embedding_0.w_0 and so on. Lookups with the same name share one table, and
	// must have the same options.
	Name string
	// Height is the number of rows: ids are below it. 0 permits any id; a row is then created when it is first trained,
	// and reads as zeros before.
	Height int
	// Dim is the width of a row.
	Dim int
	// PaddingIdx is the padding id: it reads as zeros, is never trained, and may be outside the height. nil means none;
	// new(int64(0)) pads with 0.
	PaddingIdx *int64
	// Init gives a row its values before its first update; nil means Xavier for a table with a height, and ±0.05
	// uniform for an open one.
	Init optimizer.Initializer
	// Entry decides which ids get a row; the zero value lets all in.
	Entry optimizer.Entry
	// Show and Click are feeds of one number per example, such as the label, for an Entry with ShowClick: the
	// impressions and clicks of every id that the example looks up. Without Show each lookup is one impression; without
	// Click there are no clicks; without both, each step is one impression of the rows that it touches. They are not
	// part of a saved model.
	Show, Click *Node
	// MaxBytes bounds the rows in each process that keeps a share of them; 0 means no bound. [optimizer.Param] has what
	// it counts, and what becomes of further ids.
	MaxBytes int64
	// Evict drops the least useful rows near that bound; the zero value turns new ids away.
	Evict optimizer.Evict
}

// Embedding looks ids up in a table. For ids of shape [N k] the result has shape [N k·Dim]: the rows of an example's
// ids one after the other. Only the rows that a batch touches are pulled, and only they have gradients.
func Embedding(ids *Node, o EmbeddingOptions) *Node {
	if ids == nil || ids.bad {
		return apply("", embedding{}, ids)
	}
	return apply("", embedding{padded{o.PaddingIdx}}, ids, ids.graph.table(o))
}

// table returns the table of that name, or a new one.
func (g *Graph) table(o EmbeddingOptions) *Node {
	if o.Name == "" {
		if old := g.sharing.upcoming(); old != nil {
			o.Name = old.name
		} else {
			return g.sharing.keep(g.tableAs(o))
		}
	}
	return g.tableAs(o)
}

func (g *Graph) tableAs(o EmbeddingOptions) *Node {
	p, n := g.describe(o), counts{o.Show, o.Click}
	if err := n.check(g, o); err != nil {
		return g.newNode(p.Name, variable{p}).spoil(err)
	}
	if old := g.named[p.Name]; old != nil {
		err := takenBy(old, p)
		if err == nil && n != g.counts[p.Name] {
			err = fmt.Errorf("%s counts shows and clicks by other feeds", old.placed())
		}
		if err == nil {
			return old
		}
		return g.newNode(p.Name, variable{p}).spoil(err)
	}
	if n.any() {
		if g.counts == nil {
			g.counts = map[string]counts{}
		}
		g.counts[p.Name] = n
	}
	return g.add(p.Name, variable{p})
}

func (g *Graph) describe(o EmbeddingOptions) *optimizer.Param {
	shape, init := []int{o.Height, o.Dim}, o.Init
	if init == nil && o.Height == 0 {
		init = optimizer.Uniform{Low: -0.05, High: 0.05}
	}
	name := o.Name
	if name == "" {
		name = g.free("embedding") + ".w_0"
	}
	return &optimizer.Param{Name: name, Shape: shape, Embedding: true, Init: resolve(defaultInit(init), shape),
		Seed: g.seed, Entry: o.Entry, MaxBytes: o.MaxBytes, Evict: o.Evict}
}

// takenBy returns how the node that has the name of table p differs from it, nil if it is that table.
func takenBy(old *Node, p *optimizer.Param) error {
	v, ok := old.op.(variable)
	if !ok || !v.param.Embedding {
		return fmt.Errorf("the name is taken by %s", old.label())
	}
	var differ []string
	compare := func(field string, is, was any) {
		if fmt.Sprintf("%T%+v", is, is) != fmt.Sprintf("%T%+v", was, was) {
			differ = append(differ, fmt.Sprintf("%s %+v for %+v", field, is, was))
		}
	}
	compare("Dim", p.Shape[1], v.param.Shape[1])
	compare("Height", p.Shape[0], v.param.Shape[0])
	if differ == nil { // the default depends on the shape
		compare("Init", p.Init, v.param.Init)
	}
	compare("Entry", p.Entry, v.param.Entry)
	compare("MaxBytes", p.MaxBytes, v.param.MaxBytes)
	compare("Evict", p.Evict, v.param.Evict)
	if differ == nil {
		return nil
	}
	return fmt.Errorf("%s exists, and this has %s: lookups of one name share one table", old.placed(),
		strings.Join(differ, ", "))
}

// embedding is the op that joins the rows of an example's ids.
type embedding struct{ padded }

func (embedding) kind() string  { return "embedding" }
func (embedding) byExample()    {}
func (embedding) overwritable() {}

func (embedding) infer(in []*Node) ([]int, error) {
	ids, table := in[0], in[1]
	if !isInt(ids) || !isFeed(ids) {
		return nil, fmt.Errorf("input %v is not an int64 feed, whose ids %v could look up", ids, table)
	}
	if !isTable(table) {
		return nil, fmt.Errorf("%v is not a table that ids %v could be looked up in", table, ids)
	}
	return []int{batch, ids.perExample() * table.shape[1]}, nil
}

func (e embedding) forward(c *cell) {
	t := c.in[1].table
	dim := t.param.Dim()
	if e.PaddingIdx == nil {
		kernels.GatherRows(c.value, t.w, dim, c.index)
		return
	}
	clear(c.value)
	for i, row := range c.index {
		if row >= 0 {
			copy(c.value[i*dim:(i+1)*dim], t.w[int(row)*dim:])
		}
	}
}

func (e embedding) backward(c *cell) {
	if !c.in[1].wanted {
		return
	}
	t := c.in[1].table
	dim := t.param.Dim()
	if e.PaddingIdx == nil {
		kernels.ScatterAddRows(t.rows.G, c.grad, dim, c.index)
		return
	}
	for i, row := range c.index {
		if row >= 0 {
			kernels.Axpy(1, c.grad[i*dim:(i+1)*dim], t.rows.G[int(row)*dim:(int(row)+1)*dim])
		}
	}
}

// padded has the methods that lookups share.
type padded struct {
	PaddingIdx *int64 `json:"padding_idx,omitempty"`
}

func (p padded) padding() *int64 { return p.PaddingIdx }

func (p padded) limits(n *Node) []limit {
	table := n.in[1]
	why := fmt.Sprintf("the height of embedding %q%s: a larger Height takes it, and a Hash of the column makes "+
		"smaller ids", table.name, table.made)
	return []limit{{below: int64(table.shape[0]), why: why, except: p.PaddingIdx}}
}

// add adds the ids of one lookup to the table's.
func (s *idSet) add(ids []int64, padding *int64) {
	for _, id := range ids {
		if padding == nil || id != *padding {
			s.ids = append(s.ids, uint64(id))
		}
	}
}

// rowsOf returns a lookup's part of the inverse; lookups must come in the order in which their ids were added. Padding
// has row −1.
func (s *idSet) rowsOf(c *cell, ids []int64, padding *int64) []int32 {
	if padding == nil {
		s.taken += len(ids)
		return s.inverse[s.taken-len(ids) : s.taken]
	}
	index := c.scratchInts(len(ids))
	for i, id := range ids {
		if id == *padding {
			index[i] = -1
			continue
		}
		index[i] = s.inverse[s.taken]
		s.taken++
	}
	return index
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
