package nn

import (
	"fmt"
	"slices"
	"sync"

	"github.com/gofleet/gofleet/optimizer"

	// gorgonia.org/tensor checks at start-up, through this package, whether its unsafe code works with the running Go.
	// Old versions have a list of Go releases and panic on newer ones; the version in go.mod asks the runtime. This
	// import keeps that version.
	_ "go4.org/unsafe/assume-no-moving-gc"
)

// Graph is a model: a graph of nodes that are computed from feeds and parameters. One goroutine builds it; afterwards
// any number of executors may use it.
type Graph struct {
	seed  uint64
	nodes []*Node // in order of construction: inputs come before their users
	named map[string]*Node
	count map[string]int // names given so far, by kind
	err   error

	loading bool              // nodes come from a saved model, and have no line in the program
	finite  map[string]bool   // loaded dense params without a NaN or an infinity, by name
	counts  map[string]counts // feeds of shows and clicks, by name of the table
	sharing *sharing          // the shared layer that is being applied

	mu        sync.Mutex // guards the fields below
	objective *Node
	trainer   optimizer.Trainer
	lent      bool // an executor uses the graph's own parameters
	turns     turns
}

// NewGraph returns an empty graph. The initial values of its parameters are a pure function of the seed and of their
// names.
func NewGraph(seed uint64) *Graph {
	return &Graph{seed: seed, named: map[string]*Node{}, count: map[string]int{}}
}

// Err is the first mistake made while the graph was built or bound, or nil.
func (g *Graph) Err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// Node returns the node with a name, nil if there is none: the name of a parameter or feed, or the [Node.Name] of any
// other node.
func (g *Graph) Node(name string) *Node { return g.named[name] }

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

func (g *Graph) fail(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err == nil {
		g.err = err
	}
}

// free returns the next unused name of a kind: fc_0, fc_1.
func (g *Graph) free(kind string) string {
	for {
		name := fmt.Sprintf("%s_%d", kind, g.count[kind])
		g.count[kind]++
		if g.named[name] == nil {
			return name
		}
	}
}

// add makes op a node of the graph under an unused name. An invalid node becomes the graph's error.
func (g *Graph) add(name string, o op, in ...*Node) *Node {
	n := g.newNode("", o, in...)
	if !g.sound(n) {
		return n
	}
	if name == "" {
		name = g.free(called(o))
	}
	if g.again() && g.named[name] != nil {
		name = g.free(name)
	}
	n.name = name
	if other := g.named[name]; other != nil {
		return n.spoil(n.taken(other))
	}
	shape, err := o.infer(in)
	if err == nil {
		err = bounded(shape[1:], maxExample)
	}
	if err == nil && !g.loading {
		err = swapped(o, in)
	}
	if err != nil {
		return n.spoil(err)
	}
	n.shape, n.index = shape, len(g.nodes)
	g.nodes = append(g.nodes, n)
	g.named[name] = n
	return n
}

// taken is the error for a node whose name another has.
func (n *Node) taken(other *Node) error {
	if isVariable(n) && isVariable(other) {
		return fmt.Errorf("the name is taken by %s: a layer that is applied to several inputs is made by Shared",
			other.label())
	}
	return fmt.Errorf("the name is taken by %s", other.label())
}

// newNode returns a node that is not in the graph yet.
func (g *Graph) newNode(name string, o op, in ...*Node) *Node {
	n := &Node{graph: g, op: o, in: slices.Clone(in), name: name}
	if !g.loading {
		n.made = here()
	}
	return n
}

// sound reports whether the inputs of n are valid nodes of this graph; it records an error for others, unless there is
// one already.
func (g *Graph) sound(n *Node) bool {
	for i, in := range n.in {
		switch {
		case in == nil:
			n.spoil(fmt.Errorf("input %d is nil", i))
			return false
		case in.bad:
			n.bad = true
			return false
		case in.graph != g:
			n.spoil(fmt.Errorf("input %d, %s, belongs to another graph", i, in.placed()))
			return false
		}
	}
	return true
}
