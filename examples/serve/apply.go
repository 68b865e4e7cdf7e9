package main

import (
	"context"
	"fmt"
	"io"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
)

// predictFile writes a model's outputs for the rows of a file, a line each.
func predictFile(ctx context.Context, dir, file string, to io.Writer) error {
	m, err := serve.Load(dir)
	if err != nil {
		return err
	}
	rows, err := m.Rows(file)
	if err != nil {
		return err
	}
	f, err := fleet.Init(nil)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = train.Predict(ctx, f, rows, to, m.Outputs...)
	return err
}

// examination is what -eval looks at.
type examination struct {
	eval, label, by string
	importance      bool
}

// say says how right a model is on the rows of a file.
func (e examination) say(ctx context.Context, dir string, to io.Writer) error {
	m, err := serve.Load(dir)
	if err != nil {
		return err
	}
	x := train.Examination{Paths: []string{e.eval}, By: e.by, Importance: e.importance}
	if x.Format, err = m.Format(); err != nil {
		return err
	}
	column, err := e.column(m, x.Format)
	if err != nil {
		return err
	}
	pred, label := m.Outputs[0], m.Graph.Input
	if column.Type != dataset.Floats("").Type {
		label = m.Graph.IDs
	}
	y := label(column.Name, 1)
	if shape := pred.Shape(); len(shape) == 2 && shape[1] == 1 { // a chance
		x.Loss, x.Metrics = nn.Mean(nn.BinaryCrossEntropy(pred, y)), []*nn.Node{nn.AUC(pred, y)}
	} else { // chances of classes
		x.Loss, x.Metrics = nn.Mean(nn.CrossEntropy(pred, y)), []*nn.Node{nn.Accuracy(pred, y)}
	}
	if err := m.Graph.Err(); err != nil {
		return fmt.Errorf("the first output is neither a chance nor one for each class of the label: %w", err)
	}
	v, err := x.Run(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(to, "%s: %v", dir, v)
	return err
}

// column is the one with labels.
func (e examination) column(m *serve.Model, f dataset.Format) (label dataset.Column, err error) {
	fed := map[string]bool{}
	for _, n := range m.Inputs {
		fed[n.Name()] = true
	}
	columns, err := f.Columns()
	if err != nil {
		return label, err
	}
	var others []string
	for _, c := range columns {
		if c.Name == e.label || e.label == "" && !fed[c.Name] {
			label, others = c, append(others, c.Name)
		}
	}
	if len(others) != 1 {
		return label, fmt.Errorf("-label=%s: rows of the model's format have the columns %q beside what it is fed: "+
			"name the one with labels", e.label, others)
	}
	return label, nil
}
