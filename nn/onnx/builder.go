package onnx

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gofleet/gofleet/internal/protowire"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
)

// builder makes the nodes of an ONNX graph, whose values have names.
type builder struct {
	params map[string]*optimizer.Param
	rows   []string // names of embeddings whose rows are inputs
	tables map[string]*table

	nodes           []onnxNode
	arrays          []array // initializers
	inputs, outputs []input
	names           map[string]bool // names in use
	constants       map[string]value
	brought         map[value][2]string // feed and embedding of an input with rows
	used            map[value]bool      // used as input of nodes
	at              string              // the node of nn that is being converted
	err             error               // the first
}

// value is the name of a value in the graph.
type value string

// attribute is an AttributeProto.
type attribute protowire.Message

// part is a part of an ONNX node: an input value or an attribute.
type part interface{ into(*onnxNode) }

func (v value) into(n *onnxNode)     { n.in = append(n.in, v) }
func (a attribute) into(n *onnxNode) { n.attrs = append(n.attrs, a) }

// onnxNode is a NodeProto.
type onnxNode struct {
	op, domain string
	in, out    []value
	attrs      []attribute
}

// input is one of a graph's inputs, or outputs.
type input struct {
	name value
	kind elementType
	dims []any
}

// node is a node of nn with its inputs. Shapes have -1 for the number of examples.
type node struct {
	name  string
	value value
	shape []int
	in    []node
	kind  nn.DType
}

// The types of feeds with any number of ids or values an example, and the suffix of the input with the beginnings of
// the examples.
const (
	slot       nn.DType = "slot"
	slotValues nn.DType = "slot_values"

	offsets = ".offsets"
)

// values returns all inputs of the node.
func (n node) values() (all []part) {
	for _, in := range n.in {
		all = append(all, in.value)
	}
	return all
}

func (b *builder) fail(format string, args ...any) {
	if b.err == nil {
		b.err = fmt.Errorf(format, args...)
	}
}

// fresh returns an unused name for a value.
func (b *builder) fresh(what string) value { return b.free(b.at + "/" + what) }

// free returns an unused name, with a number appended if base is in use.
func (b *builder) free(base string) value {
	name := base
	for i := 2; b.names[name]; i++ {
		name = fmt.Sprintf("%s_%d", base, i)
	}
	b.names[name] = true
	return value(name)
}

// op adds a node with one result.
func (b *builder) op(op string, parts ...part) value { return b.several(op, 1, parts...)[0] }

// several adds a node with results results.
func (b *builder) several(op string, results int, parts ...part) []value {
	n := onnxNode{op: op}
	if op == "LabelEncoder" {
		n.domain = mlDomain
	}
	for _, p := range parts {
		if p.into(&n); n.in != nil {
			b.used[n.in[len(n.in)-1]] = true
		}
	}
	for range results {
		n.out = append(n.out, b.fresh(op))
	}
	b.nodes = append(b.nodes, n)
	return slices.Clone(n.out)
}

// constant returns a small initializer; equal ones are made once.
func (b *builder) constant(kind elementType, dims []int64, name string, v any) value {
	name = fmt.Sprint(name, " ", strings.Trim(fmt.Sprint(v), "[]"))
	if made, is := b.constants[name]; is {
		return made
	}
	made := b.free(name)
	b.constants[name] = made
	raw, _ := binary.Append(nil, binary.LittleEndian, v) // numbers only
	b.arrays = append(b.arrays, array{string(made), kind, dims, int64(len(raw)), func(w io.Writer) error {
		_, err := w.Write(raw)
		return err
	}})
	return made
}

// ints returns a constant list of int64.
func (b *builder) ints(all ...int64) value {
	return b.constant(int64Type, []int64{int64(len(all))}, "ints", all)
}

// int, float and double return constants without dimensions.
func (b *builder) int(v int64) value      { return b.constant(int64Type, nil, "int", v) }
func (b *builder) float(v float32) value  { return b.constant(float32Type, nil, "float", v) }
func (b *builder) double(v float64) value { return b.constant(float64Type, nil, "double", v) }

// repeated returns a constant float32 of these dimensions, with all elements v.
func (b *builder) repeated(v float32, dims ...int) value {
	return b.op("Expand", b.float(v), b.ints(wide(dims)...))
}

func (b *builder) cast(v value, to elementType) value { return b.op("Cast", v, attr("to", int(to))) }

// where returns a for elements with yes, else other.
func (b *builder) where(yes, a, other value) value { return b.op("Where", yes, a, other) }

// biased returns a value plus the node's third input, if there is one.
func (b *builder) biased(v value, n node) value {
	if len(n.in) < 3 {
		return v
	}
	return b.op("Add", v, n.in[2].value)
}

func (b *builder) unsqueeze(v value, axes ...int64) value {
	return b.op("Unsqueeze", v, b.ints(axes...))
}

// reshape gives a value another shape. A leading -1, the number of examples, keeps its size.
func (b *builder) reshape(v value, shape ...int) value {
	dims := wide(shape)
	if len(dims) > 0 && dims[0] == -1 {
		dims[0] = 0 // unchanged
	}
	return b.op("Reshape", v, b.ints(dims...))
}

// fit inserts dimensions of 1 after x's batch: nn aligns the dimensions after the batch from the right, while ONNX
// aligns all, and so repeats x to the shape.
func (b *builder) fit(x node, shape []int) value {
	if len(x.shape) == 0 || x.shape[0] != -1 || len(x.shape) >= len(shape) {
		return x.value
	}
	fitted := slices.Repeat([]int{1}, len(shape)-len(x.shape)+1)
	fitted[0] = -1
	return b.reshape(x.value, append(fitted, x.shape[1:]...)...)
}

// sum adds up along an axis, which is removed.
func (b *builder) sum(x value, axis int64) value {
	return b.op("ReduceSum", x, b.ints(axis), attr("keepdims", 0))
}

// largest is the maximum along an axis, which is removed.
func (b *builder) largest(x value, axis int64) value {
	return b.op("ReduceMax", x, attr("axes", []int64{axis}), attr("keepdims", 0))
}

// isNot reports the elements of x that differ from what.
func (b *builder) isNot(x, what value) value { return b.op("Not", b.op("Equal", x, what)) }

// slice returns the elements from index from up to to along an axis.
func (b *builder) slice(x value, axis, from, to int64) value {
	return b.op("Slice", x, b.ints(from), b.ints(to), b.ints(axis))
}

// subgraph returns the nodes made by f as a graph of its own, which can use the values of this one: its inputs are
// names, its outputs the results of f. All are float32.
func (b *builder) subgraph(inputs []value, f func() []value) protowire.Message {
	outer := b.nodes
	b.nodes = nil
	results := f()
	var g protowire.Message
	for _, n := range b.nodes {
		g.Message(1, n.encode())
	}
	g.String(2, string(b.fresh("body")))
	for _, in := range inputs {
		g.Message(11, valueInfo(in, float32Type, nil))
	}
	for _, out := range results {
		g.Message(12, valueInfo(out, float32Type, nil))
	}
	b.nodes = outer
	return g
}

func wide(dims []int) []int64 {
	all := make([]int64, len(dims))
	for i, d := range dims {
		all[i] = int64(d)
	}
	return all
}
