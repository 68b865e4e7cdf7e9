package twin

import (
	"slices"

	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"gorgonia.org/tensor"
)

// graph is the model as nodes.
type graph struct {
	*nn.Graph
	loss, pred *nn.Node
	drop       *nn.Node   // what dropout leaves, nil without
	beside     *nn.Node   // what training fetches besides
	dense      []*nn.Node // variables, in the order of Net.variables
	rows       []*nn.Node // lookups, by table, the ledger's the last
}

// first is where first values come from.
var first = optimizer.Uniform{Low: -spread, High: spread}

func (p Program) graph() graph {
	return p.graphOf(func(g *nn.Graph, line *nn.Node) *nn.Node { return nn.Multiply(line, g.Input("minus n", 1)) })
}

// graphOf is the model with a term of each sample's loss that counts the sample in its line of the ledger.
func (p Program) graphOf(counts func(*nn.Graph, *nn.Node) *nn.Node) graph {
	n := p.Net
	g := graph{Graph: nn.NewGraph(p.Seed)}
	x := g.Input("x", n.Inputs)
	if n.Norm > 0 {
		x = nn.BatchNorm(x, nn.NormOptions{Name: "norm", Momentum: n.Norm})
	}
	in, o := []*nn.Node{x}, []nn.EmbeddingOptions{}
	for _, t := range n.Tables {
		own := p.More.options(t)
		if t.Clicks {
			own.Click = g.Input("clicks of "+t.Name, 1)
		}
		if t.Score > 0 && p.More.Shows {
			own.Show = g.Input("shows of "+t.Name, 1)
		}
		in, o = append(in, nn.Embedding(g.IDs(t.feed(), t.Slots), own)), append(o, own)
	}
	g.rows = in[1:]
	in = append(in, p.More.inputs(g.Graph, o)...)
	z := in[0]
	if len(in) > 1 {
		z = nn.Concat(in...)
	}
	h := nn.Linear(z, n.Hidden, nn.LinearOptions{Name: "hidden", Act: nn.Tanh, Init: first, BiasInit: first})
	if n.Drop > 0 {
		h = nn.Dropout(nn.Scale(h, shorter, lifted), n.Drop)
		g.drop = h
	}
	g.pred = nn.Linear(h, 1, nn.LinearOptions{Name: "out", Init: first, BiasInit: first})
	each := nn.SquareError(g.pred, g.Input("label", 1))
	if n.Ledger {
		zero := nn.EmbeddingOptions{Name: ledgerName, Dim: 1, Init: optimizer.Constant{}}
		line := nn.Embedding(g.IDs("sample", 1), zero)
		g.rows = append(slices.Clone(g.rows), line)
		each = nn.Add(each, counts(g.Graph, line))
	}
	if g.loss = nn.Mean(each); p.More.Weighted {
		g.loss = nn.WeightedMean(each, g.Input("weight", 1))
	}
	for _, name := range n.variables() { // copies: a variable that is fetched shows what it is behind the step
		g.dense = append(g.dense, nn.Scale(g.Node(name), 1, 0))
	}
	if n.Beside {
		g.beside = nn.Mean(nn.Embedding(g.IDs("beside", 1), o[0]))
	}
	return g
}

func (t Table) feed() string { return "ids of " + t.Name }

func (t Table) options() nn.EmbeddingOptions {
	entry := optimizer.Entry{CountFilter: t.Count, Probability: t.Chance}
	if t.Score > 0 {
		entry.ShowClick.Threshold = t.Score
	}
	return nn.EmbeddingOptions{Name: t.Name, Height: t.Height, Dim: t.Dim, Init: first, Entry: entry}
}

// feed is a batch. An evaluation has no labels.
func (p Program) feed(samples []int, train bool) map[string]*tensor.Dense {
	var x, label, minus []float32
	var who, beside []uint64
	ids, clicks := make([][]uint64, len(p.Net.Tables)), make([][]float32, len(p.Net.Tables))
	for _, i := range samples {
		e := p.example(i)
		x, label = append(x, e.x...), append(label, e.label)
		who, minus = append(who, uint64(i)), append(minus, -float32(len(samples)))
		for t, own := range e.ids {
			ids[t], clicks[t] = append(ids[t], own...), append(clicks[t], clicked(i))
		}
		if p.Net.Beside {
			beside = append(beside, p.Net.Tables[0].Pool[i%len(p.Net.Tables[0].Pool)])
		}
	}
	feed := map[string]*tensor.Dense{"x": nn.Floats(x, p.Net.Inputs)}
	for t, own := range ids {
		feed[p.Net.Tables[t].feed()] = nn.IDs(own, p.Net.Tables[t].Slots)
	}
	if !train {
		return feed
	}
	feed["label"] = nn.Floats(label, 1)
	for t, own := range p.Net.Tables {
		if own.Clicks {
			feed["clicks of "+own.Name] = nn.Floats(clicks[t], 1)
		}
	}
	if p.Net.Ledger {
		feed["sample"], feed["minus n"] = nn.IDs(who, 1), nn.Floats(minus, 1)
	}
	if p.Net.Beside {
		feed["beside"] = nn.IDs(beside, 1)
	}
	return feed
}
