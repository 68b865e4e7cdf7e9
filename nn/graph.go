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

// behind returns the nodes and all nodes on which they depend, in order of construction.
func behind(g *Graph, nodes []*Node) []*Node {
	var list []*Node
	for i, need := range ancestors(g, nodes) {
		if need {
			list = append(list, g.nodes[i])
		}
	}
	return list
}

// passes reports whether an op passes gradients to an input.
func passes(o op, input int) bool {
	switch o := o.(type) {
	case passer:
		return o.passes(input)
	case metric:
		return false
	case comparer, weigher:
		return input == 0
	}
	return true
}

// reaches marks the nodes that gradients of n reach, by index.
func (n *Node) reaches() []bool {
	reached := make([]bool, len(n.graph.nodes))
	reached[n.index] = true
	for i := n.index; i >= 0; i-- {
		if !reached[i] {
			continue
		}
		for j, in := range n.graph.nodes[i].in {
			reached[in.index] = reached[in.index] || passes(n.graph.nodes[i].op, j)
		}
	}
	return reached
}

// trains reports whether gradients of the node would change a parameter.
func (n *Node) trains() bool {
	for i, reached := range n.reaches() {
		v, ok := n.graph.nodes[i].op.(variable)
		if reached && ok && !v.param.Frozen {
			return true
		}
	}
	return false
}

// swapped returns an error for a label that is computed from parameters, which would not be trained: most likely the
// label and the prediction were exchanged.
func swapped(o op, in []*Node) error {
	if _, ok := o.(comparer); !ok || len(in) < 2 || !in[1].trains() {
		return nil
	}
	do := "pass a label that the model computes, such as a teacher's, through Detach"
	if !in[0].trains() {
		do = "exchange them"
	}
	return fmt.Errorf("it takes a prediction, here %s, and a label, here %s, which gets no gradient and is computed "+
		"from parameters: %s", in[0].placed(), in[1].placed(), do)
}

// ancestors marks the nodes and all nodes on which they depend, by index.
func ancestors(g *Graph, nodes []*Node) []bool {
	need := make([]bool, len(g.nodes))
	for _, n := range nodes {
		need[n.index] = true
	}
	for i := len(g.nodes) - 1; i >= 0; i-- {
		if need[i] {
			for _, in := range g.nodes[i].in {
				need[in.index] = true
			}
		}
	}
	return need
}

// used reports whether a node has n as an input.
func (g *Graph) used(n *Node) bool {
	return slices.ContainsFunc(g.nodes, func(user *Node) bool { return slices.Contains(user.in, n) })
}

// again reports whether a shared layer is being applied once more.
func (g *Graph) again() bool { return g.sharing != nil && g.sharing.made }
