package nn

import (
	"fmt"
	"slices"
	"strings"
)

// Node is a value in a graph: a feed, a parameter, or the result of an op on other nodes. Nodes are made by the
// functions of this package and do not change afterwards.
type Node struct {
	graph *Graph
	op    op
	in    []*Node
	name  string
	shape []int
	index int    // position among the graph's nodes
	bad   bool   // invalid: the graph has the error
	rises bool   // a program's own metric, of which a higher value is better
	made  origin // for errors
}

// batch stands for the number of examples in a shape.
const batch = -1

// Name returns the node's name, which is unique in the graph. The default is the kind and a number: fc_0, relu_0.
func (n *Node) Name() string { return n.name }

// Shape is the shape of the node's value, with -1 for the number of examples.
func (n *Node) Shape() []int { return slices.Clone(n.shape) }

// Op returns the name of the node's operation in OPS.md and saved models, such as linear: input for a feed, parameter
// for a dense param, table for an embedding.
func (n *Node) Op() string { return n.op.kind() }

// Inputs returns the nodes that the node is computed from, in the order of the op's arguments; feeds and params have
// none.
func (n *Node) Inputs() []*Node { return slices.Clone(n.in) }

// Graph returns the node's graph.
func (n *Node) Graph() *Graph { return n.graph }

// Err returns the error of the node's graph, so that a mistake shows where the node is used.
func (n *Node) Err() error { return n.graph.Err() }

// Named gives the node another name, for reports and saved models, and returns the node.
func (n *Node) Named(name string) *Node {
	g := n.graph
	if g.again() && g.named[name] != nil {
		name = g.free(name)
	}
	switch {
	case n.bad || name == n.name:
	case name == "" || g.named[name] != nil:
		g.fail(fmt.Errorf("nn: %s can't be named %q%s: the name is empty or taken", n.placed(), name, here()))
	case isLeaf(n):
		g.fail(fmt.Errorf("nn: %s can't be named %q%s: feeds and parameters keep their names", n.placed(), name,
			here()))
	default:
		delete(g.named, n.name)
		n.name, g.named[name] = name, n
	}
	return n
}

// HigherIsBetter declares that a higher value of this node is better, and returns the node. It is for metrics of the
// program's own, such as the mean of a [Custom] node: without it, a lower value of a node that is no metric of this
// package counts as better. Hooks that keep the best model, stop a job or lower its rate use it, and so do comparisons
// of jobs. It is an error for a metric of this package of which a lower value is better, such as [MAE], and for a loss
// that is minimised.
func (n *Node) HigherIsBetter() *Node {
	if _, counts := n.op.(metric); counts && n.Falls() {
		n.graph.fail(fmt.Errorf("nn: %s can't be declared HigherIsBetter%s: a lower value of it is better", n.placed(),
			here()))
		return n
	}
	n.rises = true
	return n
}

// String shows name and shape: "fc_0" [N 400].
func (n *Node) String() string { return fmt.Sprintf("%q %s", n.name, shapeString(n.shape)) }

func shapeString(shape []int) string {
	dims := make([]string, len(shape))
	for i, d := range shape {
		dims[i] = fmt.Sprint(d)
		if d == batch {
			dims[i] = "N"
		}
	}
	return "[" + strings.Join(dims, " ") + "]"
}

// spoil marks the node as invalid and records the error.
func (n *Node) spoil(err error) *Node {
	n.bad = true
	n.graph.fail(fmt.Errorf("nn: %s: %w", n.label(), err))
	return n
}

// label names the node in an error: op, name and place, without the name for a node that has none yet.
func (n *Node) label() string {
	if n.name == "" {
		return n.op.kind() + n.made.String()
	}
	return fmt.Sprintf("%s %q%s", n.op.kind(), n.name, n.made)
}

// placed names the node in an error that does not concern its op: name, shape and place.
func (n *Node) placed() string { return n.String() + n.made.String() }

// apply adds an op to the graph of its inputs.
func apply(name string, o op, in ...*Node) *Node {
	for _, n := range in {
		if n != nil {
			return n.graph.add(name, o, in...)
		}
	}
	return NewGraph(0).add(name, o, in...)
}

// perExample is the number of elements after the first dimension.
func (n *Node) perExample() int { return product(n.shape[min(1, len(n.shape)):]) }

func product(dims []int) int {
	p := 1
	for _, d := range dims {
		p *= d
	}
	return p
}

func isLeaf(n *Node) bool { return len(n.in) == 0 }
