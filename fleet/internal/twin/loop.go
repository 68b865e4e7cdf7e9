package twin

import (
	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
)

// LedgerName is the table with a weight for each sample.
const LedgerName = ledgerName

// Loop is a program's model for a loop that deals out batches by itself, as package train's does: its loss, and its
// outputs, the prediction and the sample's line of the ledger.
func (p Program) Loop() (loss *nn.Node, outputs []*nn.Node) {
	g := p.graphOf(func(_ *nn.Graph, line *nn.Node) *nn.Node { return nn.Custom(once{}, line) })
	return g.loss, []*nn.Node{g.pred, g.rows[len(g.rows)-1]}
}

// once is 0, and has the line of each sample grow by 1 where it is trained by plain descent at rate 1.
type once struct{}

func (once) Shape(in [][]int) ([]int, error) { return in[0], nil }

func (once) Forward(c *nn.OpCall) { clear(c.Out.Value) }

func (once) Backward(c *nn.OpCall) {
	for i := range c.In[0].Grad {
		c.In[0].Grad[i]--
	}
}

// More is what a model has besides, in a loop.
type More struct {
	Padding  bool            `json:",omitempty"` // the first id of each table's pool is padding
	Shows    bool            `json:",omitempty"` // a feed has the impressions of tables with a score
	Pool     nn.Pool         `json:",omitempty"` // of a table with any number of ids, for each other sample; none if ""
	MaxBytes int64           `json:",omitempty"` // of that table, of which a sample then has a hundred ids of its own
	Evict    optimizer.Evict `json:",omitzero"`  // how it drops rows near that bound
	Detached bool            `json:",omitempty"` // the first table is looked up again, without a gradient
	Weighted bool            `json:",omitempty"` // the loss is a weighted mean
}

// options are those of a table.
func (m More) options(t Table) nn.EmbeddingOptions {
	o := t.options()
	if m.Padding {
		o.PaddingIdx = new(int64(t.Pool[0]))
	}
	return o
}

// inputs are the layer's inputs besides, given the options of the model's tables.
func (m More) inputs(g *nn.Graph, tables []nn.EmbeddingOptions) (all []*nn.Node) {
	if m.Pool != "" {
		o := nn.EmbeddingOptions{Name: PooledName, Dim: 2, Init: first, MaxBytes: m.MaxBytes, Evict: m.Evict}
		if m.Evict.By == optimizer.EvictScore {
			o.Entry.ShowClick.Threshold = 0.05 // a show alone lets an id in
		}
		all = append(all, nn.EmbeddingPool(g.Slot("any"), m.Pool, o))
	}
	if m.Detached && len(tables) > 0 {
		all = append(all, nn.Detach(nn.Embedding(g.IDs("again", 1), tables[0])))
	}
	return all
}

// PooledName is the table with any number of ids.
const PooledName = "pooled"

// any are the ids of a sample in it.
func (m More) any(i int) (ids []uint64) {
	switch {
	case i%2 == 0:
	case m.MaxBytes > 0:
		for k := range uint64(100) {
			ids = append(ids, uint64(i)*100+k)
		}
	default:
		for k := range i % 5 {
			ids = append(ids, uint64(i+k)%7)
		}
	}
	return ids
}

// Rows are n samples for it, from a first one on.
func (p Program) Rows(first, n int) *dataset.Dataset {
	columns, fill := p.Row()
	return dataset.Generate(n, func(i int, row dataset.Row) error { fill(row, first+i); return nil }, columns...)
}

// Row returns the columns of a sample for it, and what fills a row with the sample of a number.
func (p Program) Row() (columns []dataset.Column, of func(row dataset.Row, i int)) {
	var fill []func(row dataset.Row, i int, e example)
	add := func(c dataset.Column, f func(row dataset.Row, c, i int, e example)) {
		at := len(columns)
		columns = append(columns, c)
		fill = append(fill, func(row dataset.Row, i int, e example) { f(row, at, i, e) })
	}
	number := func(name string, of func(i int, e example) float32) {
		add(dataset.Floats(name, 1), func(row dataset.Row, c, i int, e example) { row.Floats(c)[0] = of(i, e) })
	}
	add(dataset.Floats("x", p.Net.Inputs), func(row dataset.Row, c, _ int, e example) { copy(row.Floats(c), e.x) })
	add(dataset.IDs("sample", 1), func(row dataset.Row, c, i int, _ example) { row.IDs(c)[0] = uint64(i) })
	number("label", func(_ int, e example) float32 { return e.label })
	for t, own := range p.Net.Tables {
		add(dataset.IDs(own.feed(), own.Slots), func(row dataset.Row, c, _ int, e example) {
			copy(row.IDs(c), e.ids[t])
		})
		if own.Clicks {
			number("clicks of "+own.Name, func(i int, _ example) float32 { return clicked(i) })
		}
		if own.Score > 0 && p.More.Shows {
			number("shows of "+own.Name, func(i int, _ example) float32 { return float32(1 + i%2) })
		}
	}
	if p.More.Pool != "" {
		add(dataset.Varying(dataset.IDs("any", 1)), func(row dataset.Row, c, i int, _ example) {
			for _, id := range p.More.any(i) {
				row.AppendID(c, id)
			}
		})
	}
	if p.More.Detached && len(p.Net.Tables) > 0 {
		pool := p.Net.Tables[0].Pool
		add(dataset.IDs("again", 1), func(row dataset.Row, c, i int, _ example) { row.IDs(c)[0] = pool[i%len(pool)] })
	}
	if p.More.Weighted {
		number("weight", func(i int, _ example) float32 { return float32(1+i%4) / 2 })
	}
	return columns, func(row dataset.Row, i int) {
		for _, f := range fill {
			f(row, i, p.example(i))
		}
	}
}

// Door is all of the rules as the door takes them.
func (r Rules) Door() optimizer.Rule { return r.door() }

// Counts has a program keep a ledger under these rules.
func (p *Program) Counts(r Rules) Rules {
	if p.Net.Ledger {
		return r
	}
	p.Net.Ledger = true
	by := map[string]Rule{ledgerName: {Kind: "sgd", LR: 1}}
	for name, own := range r.By {
		by[name] = own
	}
	r.By = by
	if r.Clip != "" {
		r.Except = append(r.Except, ledgerName)
	}
	return r
}

// Drifts says whether copies meet seldom in a leg.
func (l Leg) Drifts() bool { return l.drifts() }

// Kind is what kind of job a leg is: "alone", "collective" or its mode.
func (l Leg) Kind() string { return l.kind() }

// Rates says whether a table rates its rows by shows and clicks.
func (n Net) Rates() bool { return n.rates() }
