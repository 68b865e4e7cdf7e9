package nn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/internal/modelfiles"
	"github.com/gofleet/gofleet/internal/overlay"
	"github.com/gofleet/gofleet/optimizer"
)

// Model is a saved model, ready for [Executor.Eval] on its graph.
type Model struct {
	Graph *Graph
	// Inputs and Outputs are the feeds and the outputs of the model, in the order in which they were saved.
	Inputs, Outputs []*Node

	format    dataset.Format // of the lines that its feeds come from
	formatErr error          // why there is no format
	version   string
	saved     []byte   // the graph
	lineage   []string // the versions of the base and of the deltas; nil without a record
	// generation is the generation of the job that saved the last of these, empty if unknown.
	generation string
}

// Format returns the format that the model was saved with (see [InferenceModel.WithFormat]): its columns are the
// model's feeds and the other columns of the training lines. It is an error if the model was saved without a format, or
// with one whose name this program does not know.
func (m *Model) Format() (dataset.Format, error) {
	switch {
	case m.formatErr != nil:
		return nil, fmt.Errorf("nn: the model's format: %w", m.formatErr)
	case m.format == nil:
		return nil, fmt.Errorf("nn: the model's format: %w", errNoFormat)
	}
	return m.format, nil
}

// Rows reads text files in the model's format, with only the feeds that its outputs need; so the files need no labels.
//
//	rows, err := m.Rows("tomorrow.csv.gz")
//	_, err = train.Predict(ctx, f, rows, os.Stdout, m.Outputs...)
func (m *Model) Rows(paths ...string) (*dataset.Dataset, error) {
	f, err := m.Format()
	if err != nil {
		return nil, err
	}
	rows := dataset.FromFiles(f, paths...).Select(feedNames(m.Inputs)...)
	return rows, rows.Err()
}

// Version identifies a saved model: it is the checksum of its model.json, and empty for a directory without that file.
func (m *Model) Version() string { return m.version }

// Version returns the version of the model that is now in a directory, as [Model.Version] would. It reads only
// model.json.
func Version(dir string) (string, error) {
	v, err := modelfiles.Version(dir)
	if err != nil {
		return "", fmt.Errorf("nn: version of %s: %w", dir, err)
	}
	return v, nil
}

// Output returns the output with a name, nil if there is none.
func (m *Model) Output(name string) *Node {
	for _, n := range m.Outputs {
		if n.name == name {
			return n
		}
	}
	return nil
}

// Load reads a model that was saved for inference: graph.json, and from all files *.safetensors in the directory the
// weights. A dense parameter is an F32 tensor of its name. An embedding is an F32 tensor of its name, of shape [rows
// dim], and its ids are a U64 or I64 tensor of the name with the suffix .ids, in as many files as there are; rows that
// no file has read as their initial values when the embedding has a height, and as zeros when not. The package
// documentation has the equivalent Python.
//
// model.json, which a fleet's SaveInferenceModel writes, has the sizes and checksums of the other files. A file that is
// missing, truncated, changed, or from a different save than the rest, is then an error. A directory without
// model.json, such as one written by another program, is read without this check. signature.json has the feeds, the
// outputs and the format of the rows for other programs; models of other programs lack it.
//
// The model may be trained further, in every kind of job: minimise a loss of its outputs, or of nodes built on them,
// and training begins with the loaded weights and rows. Every process of the job must load the same model.
//
// With deltas, saved by a fleet's SaveModel, the model is that of the time of the last delta. Each delta must directly
// follow the one before; otherwise the error is [ErrForked].
func Load(dir string, deltas ...string) (*Model, error) {
	m, err := load(dir)
	for _, delta := range deltas {
		if err == nil {
			m, err = m.WithDelta(delta)
		}
	}
	for err == nil && len(deltas) > 0 && m.fold(0) {
	}
	return m, err
}

func load(dir string) (*Model, error) {
	f, err := modelfiles.Open(context.Background(), dir)
	if err != nil {
		return nil, fmt.Errorf("nn: loading %s: %w", dir, err)
	}
	defer f.Close()
	data, err := f.Graph()
	if err != nil {
		return nil, fmt.Errorf("nn: loading a model: %w", err)
	}
	m, err := readModel(data, wholeFiles{f})
	if err != nil {
		return nil, fmt.Errorf("nn: loading %s: graph.json: %w", dir, err)
	}
	if err := m.takeSignature(f); err != nil {
		return nil, fmt.Errorf("nn: loading %s: %s: %w", dir, modelfiles.Signature, err)
	}
	if m.version, m.generation = f.Version(), f.Generation(); m.version != "" {
		m.lineage = []string{m.version}
	}
	return m, nil
}

func readModel(data []byte, f weightSource) (*Model, error) {
	var s savedGraph
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return nil, err
	}
	if s.Format != graphFormat {
		return nil, fmt.Errorf("its format is %q, this version reads %q", s.Format, graphFormat)
	}
	g := NewGraph(s.Seed)
	g.tables, g.finite, g.loading = map[string]*overlay.Table{}, map[string]bool{}, true
	for _, n := range s.Nodes {
		if err := g.restore(n, f); err != nil {
			return nil, fmt.Errorf("node %q: %w", n.Name, err)
		}
	}
	g.loading = false
	m, err := g.model(s.Outputs)
	if err == nil {
		m.saved = data
	}
	return m, err
}

func (g *Graph) model(outputs []string) (*Model, error) {
	m := &Model{Graph: g, Inputs: g.Inputs()}
	for _, name := range outputs {
		n := g.named[name]
		if n == nil {
			return nil, fmt.Errorf("output %q is not a node", name)
		}
		m.Outputs = append(m.Outputs, n)
	}
	if len(m.Outputs) == 0 {
		return nil, errors.New("it has no outputs")
	}
	return m, nil
}

// restore adds a saved node, whose inputs must come before it.
func (g *Graph) restore(s savedNode, f weightSource) error {
	if s.Name == "" {
		return errors.New("it has no name")
	}
	if s.Op == "parameter" || s.Op == "table" {
		return g.restoreVariable(s, f)
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

func (g *Graph) restoreVariable(s savedNode, f weightSource) error {
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
	if p.Embedding {
		rows, err := f.table(p)
		if err != nil {
			return err
		}
		g.tables[p.Name], p.Rows = rows, rows
		return nil
	}
	p.W, err = f.dense(p)
	g.finite[p.Name] = kernels.FirstNotFinite(p.W) < 0
	if !p.Frozen && err == nil {
		p.G = make([]float32, len(p.W))
	}
	return err
}
