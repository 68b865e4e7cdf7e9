package layout

import (
	"slices"

	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy/placement"
)

// Layout is the placement of all params on servers. It does not change.
type Layout struct {
	Params []*optimizer.Param
	Plan   *placement.Plan
	// Parts has one entry for each server.
	Parts []Part
	// Embeddings are the params with rows, in order.
	Embeddings []Embedding
	// Frozen holds the frozen dense params, whole, in order. They are in no server's part: each worker has its own
	// values, and server 0 keeps the values that go into a checkpoint or come from one.
	Frozen Part

	variable []int // by param, its number in the plan; -1 if it has none (dense and frozen)
}

// Part is a list of dense blocks, such as one server's.
type Part struct {
	Blocks []Block
	// Floats is the number of elements in Blocks.
	Floats int
}

// Block is a contiguous piece of a dense param.
type Block struct {
	Name         string
	Param        int
	Offset, Size int // elements within the param
	At           int // its first element among the floats of its part
}

// New lays out params over that many servers. Frozen dense params stay on the workers; rows of a frozen embedding live
// on servers like other rows, since they may come from a checkpoint. whole names params that are not cut into blocks.
func New(params []*optimizer.Param, servers int, o placement.Options, whole ...string) (*Layout, error) {
	l := &Layout{Params: params, Parts: make([]Part, servers), variable: make([]int, len(params))}
	var vars []placement.Variable
	for i, p := range params {
		if err := p.Check(); err != nil {
			return nil, err
		}
		l.variable[i] = -1
		if p.Embedding {
			l.Embeddings = append(l.Embeddings, Embedding{Param: p, Index: i})
		}
		if p.Frozen && !p.Embedding {
			l.Frozen.add(Block{Name: p.Name, Param: i, Size: p.Size()})
			continue
		}
		l.variable[i] = len(vars)
		vars = append(vars, placement.Variable{Name: p.Name, Shape: p.Shape, Open: p.Embedding && p.Height() == 0,
			Whole: slices.Contains(whole, p.Name)})
	}
	plan, err := placement.New(vars, servers, o)
	if err != nil {
		return nil, err
	}
	l.Plan = plan
	for e := range l.Embeddings {
		l.Embeddings[e].plan, l.Embeddings[e].variable = plan, l.variable[l.Embeddings[e].Index]
	}
	l.deal()
	return l, nil
}

// SetRowBytes notes in the plan how much memory rows of each embedding take, and how many fit into its MaxBytes. It is
// called before others use the layout.
func (l *Layout) SetRowBytes(of func(*optimizer.Param) (bytes int, most int64)) {
	for _, e := range l.Embeddings {
		v := &l.Plan.Variables[e.variable]
		v.RowBytes, v.MostRows = of(e.Param)
	}
}

// deal adds to every part its dense blocks.
func (l *Layout) deal() {
	for param, v := range l.variable {
		if v < 0 || l.Params[param].Embedding {
			continue
		}
		for _, b := range l.Plan.BlocksOf(v) {
			l.Parts[b.Server].add(Block{Name: b.Name, Param: param, Offset: b.Offset, Size: b.Size})
		}
	}
}

// add appends a block to a part.
func (p *Part) add(b Block) {
	b.At = p.Floats
	p.Blocks, p.Floats = append(p.Blocks, b), p.Floats+b.Size
}
