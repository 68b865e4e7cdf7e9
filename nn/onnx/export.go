package onnx

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
	"github.com/gofleet/gofleet/optimizer"
)

// Options are the options of [Export].
type Options struct {
	// Outputs are names of the outputs to compute, or of any nodes that have a value for each example. nil is all
	// that the model was saved for.
	Outputs []string
	// Rows are names of embeddings whose rows the caller provides, because they are too large or change too often: the
	// rows of each feed's ids are an input FEED.EMBEDDING, of shape [N k Dim], or [total Dim] for a slot, with zeros
	// for padding and, without a Height, for ids without a row.
	Rows []string
	// Inline is how many bytes of weights the file itself may hold, at most 1 GiB; 0 means 64 MiB. If there are more,
	// arrays of over 1 KiB go to a second file with the suffix .data, which must stay next to the first.
	Inline int64
}

const (
	irVersion = 8
	opset     = 17
	mlOpset   = 2
	mlDomain  = "ai.onnx.ml"

	defaultInline = 64 << 20
	mostInline    = 1 << 30
)

// Export writes a loaded model as an ONNX file, atomically. If weights go to a second file, an old model file is
// removed before its weights are replaced: a reader finds both files of a model, or no model.
func Export(m *serve.Model, file string, o Options) error {
	err := files.CheckLocal(file)
	if st, none := os.Stat(file); err == nil && none == nil && st.IsDir() {
		err = errors.New("it is a directory: give the file a name in it")
	}
	if err == nil {
		err = export(m, file, o)
	}
	if err != nil {
		return fmt.Errorf("onnx: exporting to %s: %w", file, err)
	}
	return nil
}

func export(m *serve.Model, file string, o Options) error {
	if o.Inline < 0 || o.Inline > mostInline {
		return fmt.Errorf("Options.Inline is %d: want up to %d bytes, or 0 for %d", o.Inline, mostInline, defaultInline)
	}
	if o.Inline == 0 {
		o.Inline = defaultInline
	}
	b, err := build(m, o)
	if err != nil {
		return err
	}
	about, err := describe(m, b)
	if err != nil {
		return err
	}
	return b.write(file, about, o.Inline)
}

// build makes all nodes of a model.
func build(m *serve.Model, o Options) (*builder, error) {
	outputs, err := outputsOf(m, o.Outputs)
	if err != nil {
		return nil, err
	}
	part := nn.Inference(outputs...)
	b := &builder{names: map[string]bool{}, constants: map[string]value{}, brought: map[value][2]string{},
		used: map[value]bool{}, params: map[string]*optimizer.Param{}, tables: map[string]*table{}, rows: o.Rows}
	for _, p := range part.Params() {
		b.params[p.Name] = p
	}
	var text bytes.Buffer
	var graph struct {
		Nodes []savedNode
	}
	if err := part.WriteGraph(&text); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text.Bytes(), &graph); err != nil {
		return nil, err
	}
	for _, s := range graph.Nodes {
		b.names[s.Name] = true
	}
	for _, name := range o.Rows {
		if p := b.params[name]; p == nil || !p.Embedding {
			return nil, fmt.Errorf("Options.Rows has %q; want embeddings that the outputs need", name)
		}
	}
	made := map[string]node{}
	for _, s := range graph.Nodes {
		n := node{name: s.Name, shape: m.Graph.Node(s.Name).Shape()}
		for _, in := range s.In {
			n.in = append(n.in, made[in])
		}
		if b.make(&n, s); b.err != nil {
			return nil, fmt.Errorf("%s %q: %w", s.Op, s.Name, b.err)
		}
		made[s.Name] = n
	}
	for _, n := range outputs {
		b.deliver(made[n.Name()])
	}
	b.leaveOut()
	for _, name := range slices.Sorted(maps.Keys(b.tables)) {
		b.arrays = append(b.arrays, b.tables[name].array())
	}
	return b, nil
}

// savedNode is a node of graph.json in a saved model.
type savedNode struct {
	Name, Op string
	In       []string
	Attrs    json.RawMessage
}

// outputsOf returns the nodes to compute.
func outputsOf(m *serve.Model, names []string) ([]*nn.Node, error) {
	if m == nil {
		return nil, errors.New("the model is nil")
	}
	if names == nil {
		for _, n := range m.Outputs {
			names = append(names, n.Name())
		}
	}
	var outputs []*nn.Node
	for _, name := range names {
		n := m.Graph.Node(name)
		switch {
		case n == nil:
			return nil, fmt.Errorf("Options.Outputs has %q, which the model has not", name)
		case slices.Contains(outputs, n):
			return nil, fmt.Errorf("Options.Outputs has %q twice", name)
		case n.Op() == "input" || n.Op() == "table" || n.Op() == "parameter":
			return nil, fmt.Errorf("output %q is computed from nothing: it is of kind %s", name, n.Op())
		}
		outputs = append(outputs, n)
	}
	if len(outputs) == 0 {
		return nil, errors.New("no output to compute: name some in Options.Outputs")
	}
	return outputs, nil
}

// make computes the value of a node.
func (b *builder) make(n *node, s savedNode) {
	b.at = s.Name
	var kind struct{ Type, To nn.DType }
	if s.Op == "input" || s.Op == "cast" {
		if err := json.Unmarshal(s.Attrs, &kind); err != nil {
			b.fail("%w", err)
		}
	}
	n.kind = cmp.Or(kind.Type, kind.To, nn.Float32)
	n.value = value(s.Name)
	if s.Op == "input" {
		for _, in := range n.inputs() {
			b.feed(in)
		}
		return
	}
	if p := b.params[s.Name]; p != nil {
		b.param(p)
		return
	}
	r, ok := exported[s.Op]
	if !ok {
		b.fail("it can't be exported: %s", whyNot(s.Op))
		return
	}
	n.value = r(b, *n, s.Attrs)
}

// inputs returns a feed as ONNX inputs: its values, and for a slot the beginnings of the examples.
func (n *node) inputs() []input {
	kind := int64Type
	if n.kind == nn.Float32 || n.kind == slotValues {
		kind = float32Type
	}
	values := input{n.value, kind, dimsOf(*n)}
	if n.kind != slot && n.kind != slotValues {
		return []input{values}
	}
	return []input{values, {n.value + offsets, int64Type, []any{string(n.value + offsets)}}}
}

// feed declares an input, once.
func (b *builder) feed(in input) {
	if !slices.ContainsFunc(b.inputs, func(other input) bool { return other.name == in.name }) {
		b.names[string(in.name)] = true
		b.inputs = append(b.inputs, in)
	}
}

// dimsOf returns a node's dimensions: the number of examples is N, and the number of a slot's ids has the slot's name.
func dimsOf(n node) []any {
	if n.kind == slot || n.kind == slotValues {
		return []any{n.name}
	}
	var dims []any
	for _, d := range n.shape {
		if d < 0 {
			dims = append(dims, "N")
		} else {
			dims = append(dims, d)
		}
	}
	return dims
}

// param adds weights.
func (b *builder) param(p *optimizer.Param) {
	switch {
	case !p.Embedding:
		b.arrays = append(b.arrays, array{p.Name, float32Type, wide(p.Shape), 4 * int64(len(p.W)), floats(p.W)})
	case !slices.Contains(b.rows, p.Name):
		b.table(p)
	}
}

// deliver makes a node's value an output with the node's name.
func (b *builder) deliver(n node) {
	b.used[n.value] = true
	b.nodes = append(b.nodes, onnxNode{op: "Identity", in: []value{n.value}, out: []value{value(n.name)}})
	kind := float32Type
	if n.kind == nn.Int64 {
		kind = int64Type
	}
	b.outputs = append(b.outputs, input{value(n.name), kind, dimsOf(n)})
}

// leaveOut drops unused inputs and weights: ids whose rows the caller provides, and params that only training reads.
func (b *builder) leaveOut() {
	b.inputs = slices.DeleteFunc(b.inputs, func(in input) bool { return !b.used[in.name] })
	b.arrays = slices.DeleteFunc(b.arrays, func(a array) bool { return !b.used[value(a.name)] })
}
