package serve

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/internal/modelfiles"
	"github.com/gofleet/gofleet/internal/overlay"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
)

// Model is a saved model, ready for [nn.Executor.Eval] on its graph.
type Model struct {
	Graph *nn.Graph
	// Inputs and Outputs are the feeds and the outputs of the model, in the order in which they were saved.
	Inputs, Outputs []*nn.Node

	tables    map[string]*overlay.Table // of embeddings, by name
	format    dataset.Format            // of the lines that its feeds come from
	formatErr error                     // why there is no format
	version   string
	saved     []byte   // the graph
	lineage   []string // the versions of the base and of the deltas; nil without a record
	// generation is the generation of the job that saved the last of these, empty if unknown.
	generation string
}

// Format returns the format that the model was saved with (see [nn.InferenceModel.WithFormat]): its columns are the
// model's feeds and the other columns of the training lines. It is an error if the model was saved without a format, or
// with one whose name this program does not know.
func (m *Model) Format() (dataset.Format, error) {
	switch {
	case m.formatErr != nil:
		return nil, fmt.Errorf("serve: the model's format: %w", m.formatErr)
	case m.format == nil:
		return nil, fmt.Errorf("serve: the model's format: %w", errNoFormat)
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
	rows := dataset.FromFiles(f, paths...).Select(namesOf(m.Inputs)...)
	return rows, rows.Err()
}

// errNoFormat is the error for reading lines for a model without a format.
var errNoFormat = errors.New("it was saved without one: give nn.Inference(…).WithFormat what training reads")

// Version identifies a saved model: it is the checksum of its model.json, and empty for a directory without that file.
func (m *Model) Version() string { return m.version }

// Version returns the version of the model that is now in a directory, as [Model.Version] would. It reads only
// model.json.
func Version(dir string) (string, error) {
	v, err := modelfiles.Version(dir)
	if err != nil {
		return "", fmt.Errorf("serve: version of %s: %w", dir, err)
	}
	return v, nil
}

// Output returns the output with a name, nil if there is none.
func (m *Model) Output(name string) *nn.Node {
	for _, n := range m.Outputs {
		if n.Name() == name {
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
		return nil, fmt.Errorf("serve: loading %s: %w", dir, err)
	}
	defer f.Close()
	graph, err := f.Graph()
	if err != nil {
		return nil, fmt.Errorf("serve: loading a model: %w", err)
	}
	m := &Model{saved: graph}
	if err := m.read(f, func(p *optimizer.Param, n int) (*overlay.Table, error) {
		as, err := f.Format(p.Name)
		if err != nil {
			return nil, err
		}
		return overlay.Read(p.Dim(), n, as, rowsFrom(f, p))
	}); err != nil {
		return nil, fmt.Errorf("serve: loading %s: graph.json: %w", dir, err)
	}
	if data := f.Signature(); data != nil { // a directory of another program has none
		if m.format, m.formatErr, err = nn.Inference(m.Outputs...).ReadSignature(data); err != nil {
			return nil, fmt.Errorf("serve: loading %s: %s: %w", dir, modelfiles.Signature, err)
		}
	}
	if m.version, m.generation = f.Version(), f.Generation(); m.version != "" {
		m.lineage = []string{m.version}
	}
	return m, nil
}

// read makes the graph that was saved, with the weights in f: table makes the table of an embedding of which f has n
// rows.
func (m *Model) read(f *modelfiles.Files, table func(p *optimizer.Param, n int) (*overlay.Table, error)) (err error) {
	m.tables = map[string]*overlay.Table{}
	m.Graph, m.Outputs, err = nn.ReadGraph(m.saved, func(p *optimizer.Param) error {
		if !p.Embedding {
			return loadDense(f, p)
		}
		n, err := f.RowCount(p.Name)
		if err != nil {
			return err
		}
		t, err := table(p, n)
		m.tables[p.Name], p.Rows = t, t
		return err
	})
	if err == nil {
		m.Inputs = m.Graph.Inputs()
	}
	return err
}

// loadDense reads the weights of a dense parameter.
func loadDense(f *modelfiles.Files, p *optimizer.Param) error {
	w, shape, err := f.Dense(p.Name)
	if err == nil && !slices.Equal(shape, p.Shape) {
		err = fmt.Errorf("its weights have shape %v, the graph's %v", shape, p.Shape)
	}
	p.W = w
	return err
}

func rowsFrom(f *modelfiles.Files, p *optimizer.Param) overlay.Rows {
	return func(do func(ids []uint64, w []float32) error) error { return f.Rows(p.Name, do) }
}
