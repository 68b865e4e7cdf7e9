package nn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/optimizer"
)

// Inference returns the part of a graph that the outputs depend on, as a model to save: a fleet's SaveInferenceModel
// writes it with its weights, and package nn/serve reads it back.
func Inference(outputs ...*Node) InferenceModel {
	return InferenceModel{outputs: slices.Clone(outputs)}
}

// InferenceModel is a model to save, as an [optimizer.Model].
type InferenceModel struct {
	outputs []*Node
	format  dataset.Format
}

// WithFormat returns the model with the format of the lines that it was trained on, so that a scorer of nn/serve parses
// raw lines exactly as training did: the same columns, hashes, heights, scaled numbers, and defaults for missing
// values. Each feed must be a column of the format. Your own format type needs a name first (dataset.RegisterFormat);
// saving refuses one without.
//
// A format does not include a dataset's MapFloats, MapInts, MapRows and Map, and nothing detects that they were used:
// scale numbers with Scale of dataset.CSVColumn instead, or by nodes of the graph.
func (m InferenceModel) WithFormat(f dataset.Format) InferenceModel {
	m.format = f
	return m
}

// Err returns the error with which saving the model would fail, apart from its weights, so that a program can check
// before it trains: for example invalid outputs, or a format that lacks a feed or has no name.
func (m InferenceModel) Err() error {
	if err := m.WriteSignature(io.Discard); err != nil {
		return err
	}
	return m.WriteGraph(io.Discard)
}

// Params implements [optimizer.Model].
func (m InferenceModel) Params() []*optimizer.Param {
	if m.check() != nil {
		return nil
	}
	return paramsOf(behind(m.outputs[0].graph, m.outputs))
}

func (m InferenceModel) check() error {
	if len(m.outputs) == 0 || m.outputs[0] == nil {
		return errors.New("nn: Inference: no outputs")
	}
	g := m.outputs[0].graph
	if err := g.Err(); err != nil {
		return err
	}
	for _, n := range m.outputs {
		if n == nil || n.bad || n.graph != g {
			return fmt.Errorf("nn: Inference: output %v is not a node of the graph of %s", n, m.outputs[0].placed())
		}
	}
	return nil
}

// graphFormat marks saved graphs, with the version of their format.
const graphFormat = "gofleet graph 2"

// savedGraph is a graph as JSON. Nodes come after their inputs.
type savedGraph struct {
	Format  string      `json:"format"`
	Seed    uint64      `json:"seed"`
	Nodes   []savedNode `json:"nodes"`
	Outputs []string    `json:"outputs"`
}

type savedNode struct {
	Name  string          `json:"name"`
	Op    string          `json:"op"`
	In    []string        `json:"in,omitempty"`
	Attrs json.RawMessage `json:"attrs,omitempty"`
}

// savedVariable are the attributes of a parameter. Initial values are saved for tables only: their rows may be read
// before they exist, and are created when a loaded model is trained further. For a table without a height, whose rows
// read as zeros until then, an initializer that can't be saved is left out: its new rows begin as zeros.
type savedVariable struct {
	Shape  []int      `json:"shape"`
	Frozen bool       `json:"frozen,omitempty"`
	Init   *savedInit `json:"init,omitempty"`
}

// WriteGraph implements [optimizer.Model].
func (m InferenceModel) WriteGraph(w io.Writer) error {
	if err := m.check(); err != nil {
		return err
	}
	g := m.outputs[0].graph
	s := savedGraph{Format: graphFormat, Seed: g.seed}
	for _, n := range behind(g, m.outputs) {
		node, err := saveNode(n)
		if err != nil {
			return fmt.Errorf("nn: Inference: %s: %w", n.label(), err)
		}
		s.Nodes = append(s.Nodes, node)
	}
	for _, n := range m.outputs {
		s.Outputs = append(s.Outputs, n.name)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(s)
}

func saveNode(n *Node) (savedNode, error) {
	s := savedNode{Name: n.name, Op: n.op.kind()}
	for _, in := range n.in {
		s.In = append(s.In, in.name)
	}
	attrs, err := attributes(n.op)
	if err != nil {
		return s, err
	}
	if s.Attrs, err = json.Marshal(attrs); string(s.Attrs) == "{}" {
		s.Attrs = nil
	}
	return s, err
}

func attributes(o op) (any, error) {
	if own, is := o.(interface{ saved() (savedOp, error) }); is {
		return own.saved()
	}
	v, ok := o.(variable)
	if !ok {
		return o, nil
	}
	s := savedVariable{Shape: v.param.Shape, Frozen: v.param.Frozen}
	if !v.param.Embedding {
		return s, nil
	}
	init, err := saveInit(v.param.Init)
	if v.param.Height() == 0 || err != nil && given(v.param) <= mostGiven {
		err = nil // rows that were never trained are zeros, or in the model
	}
	s.Init = init
	return s, err
}

// mostGiven bounds the rows that are saved without ever being trained.
const mostGiven = 1 << 28

// Given implements the optional method of [optimizer.Model].
func (InferenceModel) Given(p *optimizer.Param) int {
	if _, err := saveInit(p.Init); err == nil || p.Init == nil || !p.Embedding {
		return 0
	}
	return given(p)
}

// given is the number of first rows of an embedding whose initial values may not be zeros.
func given(p *optimizer.Param) int {
	if g, ok := p.Init.(interface{ Given(dim int) int }); ok {
		return min(g.Given(p.Dim()), p.Height())
	}
	return p.Height()
}

// Savable returns an error that names a parameter behind the node that can't be saved in a model, and why, or nil.
// Minimize logs it as a warning.
func (n *Node) Savable() error {
	for _, p := range n.Params() {
		if _, err := attributes(variable{p}); err != nil {
			return fmt.Errorf("nn: %s: %w", n.graph.Node(p.Name).label(), err)
		}
	}
	return nil
}

// savedInit is an initializer as JSON.
type savedInit struct {
	Type string  `json:"type"`
	A    float32 `json:"a"` // constant's value, uniform's low, normal's mean
	B    float32 `json:"b"` // uniform's high, normal's deviation
}

func saveInit(init optimizer.Initializer) (*savedInit, error) {
	switch i := init.(type) {
	case optimizer.Constant:
		return &savedInit{"constant", i.Value, 0}, nil
	case optimizer.Uniform:
		i = i.WithDefaults()
		return &savedInit{"uniform", i.Low, i.High}, nil
	case optimizer.Normal:
		i = i.WithDefaults()
		return &savedInit{"normal", i.Mean, i.Std}, nil
	case optimizer.TruncatedNormal:
		i = i.WithDefaults()
		return &savedInit{"truncated_normal", i.Mean, i.Std}, nil
	}
	return nil, fmt.Errorf("initializer %T can't be saved, and the embedding has too many rows (more than %d) to save "+
		"those that were never trained: use Constant, Uniform, Normal or TruncatedNormal, or a Height of 0, with "+
		"which such rows are zero", init, mostGiven)
}

func (s *savedInit) initializer() (optimizer.Initializer, error) {
	if s == nil {
		return nil, nil
	}
	switch s.Type {
	case "constant":
		return optimizer.Constant{Value: s.A}, nil
	case "uniform":
		return optimizer.Uniform{Low: s.A, High: s.B}, nil
	case "normal":
		return optimizer.Normal{Mean: s.A, Std: s.B}, nil
	case "truncated_normal":
		return optimizer.TruncatedNormal{Mean: s.A, Std: s.B}, nil
	}
	return nil, fmt.Errorf("initializer %q is not known", s.Type)
}

// ReadGraph reads what [InferenceModel.WriteGraph] wrote, and returns the graph and the outputs. load is called for
// each parameter: it sets W of a dense one, and Rows of an embedding, which evaluations read if it has a method to look
// rows up as those of nn/serve have.
func ReadGraph(data []byte, load func(p *optimizer.Param) error) (*Graph, []*Node, error) {
	var s savedGraph
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return nil, nil, fmt.Errorf("nn: a saved graph: %w", err)
	}
	if s.Format != graphFormat {
		return nil, nil, fmt.Errorf("nn: a saved graph: its format is %q, this version reads %q", s.Format, graphFormat)
	}
	g := NewGraph(s.Seed)
	g.finite, g.loading = map[string]bool{}, true
	for _, n := range s.Nodes {
		if err := g.restore(n, load); err != nil {
			return nil, nil, fmt.Errorf("nn: a saved graph: node %q: %w", n.Name, err)
		}
	}
	g.loading = false
	var outputs []*Node
	for _, name := range s.Outputs {
		n := g.named[name]
		if n == nil {
			return nil, nil, fmt.Errorf("nn: a saved graph: output %q is not a node", name)
		}
		outputs = append(outputs, n)
	}
	if len(outputs) == 0 {
		return nil, nil, errors.New("nn: a saved graph: it has no outputs")
	}
	return g, outputs, nil
}

// restore adds a saved node, whose inputs must come before it.
func (g *Graph) restore(s savedNode, load func(*optimizer.Param) error) error {
	if s.Name == "" {
		return errors.New("it has no name")
	}
	if s.Op == "parameter" || s.Op == "table" {
		return g.restoreVariable(s, load)
	}
	r, ok := recipes[s.Op]
	if !ok {
		return fmt.Errorf("op %q is not known", s.Op)
	}
	if len(s.In) < r.min || len(s.In) > r.max {
		return fmt.Errorf("op %q has %d inputs, between %d and %d are needed", s.Op, len(s.In), r.min, r.max)
	}
	o, err := r.make(s.Attrs)
	if err != nil {
		return err
	}
	in := make([]*Node, len(s.In))
	for i, name := range s.In {
		if in[i] = g.named[name]; in[i] == nil {
			return fmt.Errorf("input %q is not a node before it", name)
		}
	}
	g.add(s.Name, o, in...)
	return g.Err()
}

func (g *Graph) restoreVariable(s savedNode, load func(*optimizer.Param) error) error {
	var v savedVariable
	if err := json.Unmarshal(s.Attrs, &v); err != nil {
		return fmt.Errorf("attributes: %w", err)
	}
	init, err := v.Init.initializer()
	if err != nil {
		return err
	}
	p := &optimizer.Param{Name: s.Name, Shape: v.Shape, Embedding: s.Op == "table", Init: init, Seed: g.seed,
		Frozen: v.Frozen}
	if n := g.add(s.Name, variable{p}); n.bad {
		return g.Err()
	}
	if err := load(p); err != nil || p.Embedding {
		return err
	}
	if len(p.W) != p.Size() {
		return fmt.Errorf("%d weights for shape %v", len(p.W), p.Shape)
	}
	g.finite[p.Name] = kernels.FirstNotFinite(p.W) < 0
	if !p.Frozen {
		p.G = make([]float32, len(p.W))
	}
	return nil
}
