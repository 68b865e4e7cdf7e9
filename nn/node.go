package nn

import (
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
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

// origin is the place where a program called this package: program counters, which become a file and a line when an
// error is printed.
type origin []uintptr

// here returns the origin of the present call of this package.
func here() origin {
	var calls [16]uintptr // more than there are between a program and the node's creation
	return slices.Clone(origin(calls[:runtime.Callers(2, calls[:])]))
}

// String returns the file and line for an error, after a blank; "" if no line of the program made the node, as in a
// loaded model.
func (o origin) String() string {
	frames := runtime.CallersFrames(o)
	for more := len(o) > 0; more; {
		var f runtime.Frame
		if f, more = frames.Next(); !strings.HasPrefix(f.Function, packagePath) ||
			strings.HasSuffix(f.File, "_test.go") {
			return fmt.Sprintf(" (%s:%d)", filepath.Base(f.File), f.Line)
		}
	}
	return ""
}

// packagePath begins the names of this package's functions.
var packagePath = reflect.TypeFor[origin]().PkgPath() + "."

// The largest sizes of one example's part of a value, or a row of a table, and of a dense parameter.
const (
	maxExample = 1 << 24
	maxDense   = 1 << 31
)

func equalShapes(a, b []int) bool { return slices.Equal(a, b) }

// withRows returns the shape with the number of examples filled in, in the memory of dst.
func withRows(dst, shape []int, rows int) []int {
	dst = append(dst[:0], shape...)
	if len(dst) > 0 && dst[0] == batch {
		dst[0] = rows
	}
	return dst
}

// isSuffix reports whether a's last dimensions equal b, and are fixed.
func isSuffix(a, b []int) bool {
	return len(b) <= len(a) && slices.Equal(a[len(a)-len(b):], b) && !slices.Contains(b, batch)
}

// bounded returns an error for shapes with more elements than the limit.
func bounded(dims []int, limit int) error {
	n := 1
	for _, d := range dims {
		if d > limit/n {
			return fmt.Errorf("shape %s has too many elements, more than %d", shapeString(dims), limit)
		}
		n *= max(d, 1)
	}
	return nil
}

// missing reports whether a node is nil or invalid.
func missing(x *Node) bool { return x == nil || x.bad }

func batched(n *Node) bool { return len(n.shape) > 0 && n.shape[0] == batch }

func last(shape []int) int { return shape[len(shape)-1] }

// DType is the element type of a node.
type DType string

// The types of feeds, and results of [Cast]. All other values are float32.
const (
	Float32 DType = "float32"
	Int64   DType = "int64"

	slots DType = "slot" // int64, of varying length
	// slotValues are float32, of varying length
	slotValues DType = "slot_values"
	wideIDs    DType = "uint64" // another type for ids in feeds
)

// isInt reports whether the node's elements are int64, as a feed's or a cast's are.
func isInt(n *Node) bool {
	t, ok := n.op.(typed)
	return ok && t.dtype() == Int64
}

// dtype is the type of the node's elements.
func (n *Node) dtype() DType {
	if isInt(n) {
		return Int64
	}
	return Float32
}
