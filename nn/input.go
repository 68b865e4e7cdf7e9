package nn

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/optimizer"
)

// feed is a node whose value is given in each batch.
type feed struct {
	Type DType `json:"type"`
	Dims []int `json:"dims"` // of one example
}

// Input declares a float32 feed. dims are the dimensions of one example: a batch of N has shape [N dims...].
func (g *Graph) Input(name string, dims ...int) *Node {
	return g.add(name, feed{Float32, slices.Clone(dims)})
}

// IDs declares an int64 feed of shape [N dims...]: ids to look up in an embedding, or class labels. They must not be
// negative. Ids that are only looked up, or name groups, may also be fed as uint64, from 0 to 2⁶⁴−1.
func (g *Graph) IDs(name string, dims ...int) *Node {
	return g.add(name, feed{Int64, slices.Clone(dims)})
}

func (feed) kind() string { return "input" }

func (f feed) infer([]*Node) ([]int, error) {
	if f.Type != Float32 && f.Type != Int64 && (!f.varies() || len(f.Dims) > 0) {
		return nil, fmt.Errorf("type %q with dimensions %v is not known", f.Type, f.Dims)
	}
	for i, d := range f.Dims {
		if d <= 0 {
			return nil, fmt.Errorf("dimension %d of %v is not positive (the batch is left out)", i, f.Dims)
		}
	}
	return append([]int{batch}, f.Dims...), nil
}

func (f feed) dtype() DType { return f.Type }

func (feed) forward(*cell)  {}
func (feed) backward(*cell) {}

// varies reports whether examples differ in length.
func (f feed) varies() bool { return f.Type == slots || f.Type == slotValues }

func varies(n *Node) bool {
	f, ok := n.op.(feed)
	return ok && f.varies()
}

func isSlotValues(n *Node) bool { return varies(n) && !isSlot(n) }

func isSlot(n *Node) bool {
	f, ok := n.op.(feed)
	return ok && f.Type == slots
}

func isFeed(n *Node) bool {
	_, ok := n.op.(feed)
	return ok
}

// wantFloat returns an error for int64 feeds and tables where numbers are needed.
func wantFloat(in []*Node) error {
	for _, n := range in {
		if isSlot(n) {
			return fmt.Errorf("input %v holds int64, float32 is needed", n)
		}
		if isSlotValues(n) {
			return fmt.Errorf("input %v has any number of values an example: their use is EmbeddingPoolWeighted", n)
		}
		if isInt(n) {
			return fmt.Errorf("input %v holds int64, float32 is needed: Cast makes it float32", n)
		}
		if isTable(n) {
			return fmt.Errorf("input %v is a table: look ids up in it with Embedding", n)
		}
	}
	return nil
}

// sameShape returns an error for two inputs of different shapes.
func sameShape(in []*Node) error {
	if err := wantFloat(in); err != nil {
		return err
	}
	if !equalShapes(in[0].shape, in[1].shape) {
		return differ(in)
	}
	return nil
}

func differ(in []*Node) error { return fmt.Errorf("shapes differ: %v and %v", in[0], in[1]) }

func isVariable(n *Node) bool {
	_, ok := n.op.(variable)
	return ok
}

// variable is a node whose value is a parameter: a dense array, or the table behind an embedding, which has no value of
// its own.
type variable struct {
	param *optimizer.Param
}

// ParameterOptions are the options of a parameter.
type ParameterOptions struct {
	// Name is the parameter's name; empty means create_parameter_0.w_0 and so on.
	Name string
	// Init gives the initial values; nil means Xavier.
	Init optimizer.Initializer
	// Frozen keeps the initial values: no rule changes them.
	Frozen bool
}

// Parameter declares a dense parameter of a fixed shape, for layers that this package does not have. Its gradient is
// the sum over all uses.
func (g *Graph) Parameter(o ParameterOptions, shape ...int) *Node {
	name := o.Name
	if name == "" {
		name = g.free("create_parameter") + ".w_0"
	}
	return g.dense(name, shape, defaultInit(o.Init), o.Frozen)
}

// dense adds a dense parameter with its initial values.
func (g *Graph) dense(name string, shape []int, init optimizer.Initializer, frozen bool) *Node {
	if n := g.sharing.upcoming(); n != nil {
		return n.fits(shape)
	}
	shape = slices.Clone(shape)
	p := &optimizer.Param{Name: name, Shape: shape, Init: resolve(init, shape), Seed: g.seed, Frozen: frozen}
	n := g.sharing.keep(g.add(name, variable{p}))
	if n.bad {
		return n
	}
	p.W = make([]float32, p.Size())
	if !frozen {
		p.G = make([]float32, p.Size())
	}
	p.InitDense(p.W)
	return n
}

func (v variable) kind() string {
	if v.param.Embedding {
		return "table"
	}
	return "parameter"
}

func (v variable) infer([]*Node) ([]int, error) {
	p := v.param
	if len(p.Shape) == 0 {
		return nil, errors.New("a parameter needs a shape (a scalar has shape [1])")
	}
	for i, d := range p.Shape {
		if d < 0 || d == 0 && !(p.Embedding && i == 0) {
			return nil, fmt.Errorf("dimension %d of shape %v is not positive", i, p.Shape)
		}
	}
	if p.Embedding && len(p.Shape) != 2 {
		return nil, fmt.Errorf("a table has shape [height dim], not %v", p.Shape)
	}
	if p.Embedding {
		return p.Shape, nil // its height takes no memory
	}
	return p.Shape, bounded(p.Shape, maxDense)
}

func (variable) forward(*cell) {}

func (variable) backward(*cell) {}

func isTable(n *Node) bool {
	v, ok := n.op.(variable)
	return ok && v.param.Embedding
}

// copyParam returns a parameter with arrays of its own, which a session fills when a step begins. The original's arrays
// must not be read, since another executor uses them.
func copyParam(p *optimizer.Param) *optimizer.Param {
	c := *p
	if p.W != nil {
		c.W = make([]float32, len(p.W))
	}
	if p.G != nil {
		c.G = make([]float32, len(p.G))
	}
	return &c
}

// Inputs lists the feeds in the order they were declared.
func (g *Graph) Inputs() []*Node { return feedsOf(g.nodes) }

func feedsOf(nodes []*Node) []*Node {
	var in []*Node
	for _, n := range nodes {
		if _, ok := n.op.(feed); ok {
			in = append(in, n)
		}
	}
	return in
}

// Params lists the parameters of the whole graph in order of construction.
func (g *Graph) Params() []*optimizer.Param { return paramsOf(g.nodes) }

func paramsOf(nodes []*Node) []*optimizer.Param {
	var params []*optimizer.Param
	for _, n := range nodes {
		if v, ok := n.op.(variable); ok {
			params = append(params, v.param)
		}
	}
	return params
}

// position returns the row and column of the i-th id of a feed.
func position(n *Node, offsets []int64, i int) (row, column int) {
	if varies(n) {
		row, _ = slices.BinarySearch(offsets, int64(i+1))
		return row - 1, i - int(offsets[row-1])
	}
	return i / n.perExample(), i % n.perExample()
}
