package nn

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/optimizer"
)

// variable is a node whose value is a parameter: a dense array, or the table behind an embedding, which has no value of
// its own.
type variable struct {
	param *optimizer.Param
}

// ParameterOptions are the options of a parameter.
type ParameterOptions struct {
	// Name is the parameter's name; empty means create_parameter_0.w_0 and so on.
	Name string
	// Init gives the initial values; nil means XavierUniform.
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

func (variable) forward(*cell)  {}
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
