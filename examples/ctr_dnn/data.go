package main

import (
	"context"
	"strconv"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/examples/ctr_dnn/clicks"
	"github.com/gofleet/gofleet/examples/internal/job"
)

// inputs are what the model is fed.
type inputs struct {
	slots   []string
	height  int // ids are below
	numbers int // in dense_input
	label   string
}

func inputsOf(c config) inputs {
	if c.data == "" {
		return inputs{slots: clicks.Slots(), height: clicks.Height, label: clicks.Label}
	}
	in := inputs{height: 1_000_001, numbers: 13, label: "click"}
	for i := range 26 {
		in.slots = append(in.slots, strconv.Itoa(i+1))
	}
	return in
}

// format is Criteo's slot text, where each of the 26 slots may have any number of ids.
func (in inputs) format() dataset.Format {
	columns := []dataset.SlotColumn{
		{Column: dataset.Floats("dense_input", in.numbers), Slots: []string{"dense_feature"}},
		{Column: dataset.Floats(in.label, 1)},
	}
	for _, slot := range in.slots {
		columns = append(columns, dataset.SlotColumn{Column: dataset.Varying(dataset.Ints(slot))})
	}
	return dataset.SlotText{Slots: columns, Pad: true}
}

// load returns training and test rows, four to one.
func load(ctx context.Context, c config) (train, test *dataset.Dataset, err error) {
	var rows *dataset.Dataset
	if c.data == "" {
		rows, err = clicks.Generate(c.Seed, c.rows).Load(ctx)
	} else {
		rows, err = job.Rows(ctx, inputsOf(c).format(), c.data)
	}
	if err != nil {
		return nil, nil, err
	}
	return job.Split(rows, c.Seed)
}
