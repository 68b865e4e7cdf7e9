package twin

import (
	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/rolemaker"
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

// Rows are n samples for it, from a first one on.
func (p Program) Rows(first, n int) *dataset.Dataset {
	columns := []dataset.Column{dataset.Floats("x", p.Net.Inputs), dataset.Floats("label", 1), dataset.IDs("sample", 1)}
	for _, t := range p.Net.Tables {
		if columns = append(columns, dataset.IDs(t.feed(), t.Slots)); t.Clicks {
			columns = append(columns, dataset.Floats("clicks of "+t.Name, 1))
		}
	}
	return dataset.Generate(n, func(i int, row dataset.Row) error {
		e := p.example(first + i)
		copy(row.Floats(0), e.x)
		row.Floats(1)[0], row.IDs(2)[0] = e.label, uint64(first+i)
		at := 3
		for t, ids := range e.ids {
			copy(row.IDs(at), ids)
			if at++; p.Net.Tables[t].Clicks {
				row.Floats(at)[0] = clicked(first + i)
				at++
			}
		}
		return nil
	}, columns...)
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

// Roles are the processes of a leg by name.
func (l Leg) Roles() map[string]rolemaker.RoleMaker {
	all := map[string]rolemaker.RoleMaker{}
	for _, m := range l.roles() {
		all[l.roleOf(m)] = m
	}
	return all
}

// Rates says whether a table rates its rows by shows and clicks.
func (n Net) Rates() bool { return n.rates() }
