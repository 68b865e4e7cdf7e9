package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/examples/ctr_dnn/clicks"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/nn"
)

// inputs are what the model is fed.
type inputs struct {
	slots   []string
	height  int // ids are below
	numbers int // in dense_input
	label   string
}

func inputsOf(c *config) inputs {
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

// generated are training and test rows, four to one.
func (c *config) generated(ctx context.Context) (train, test *dataset.Dataset, err error) {
	rows, err := clicks.Generate(c.Seed, c.rows).Load(ctx)
	if err != nil {
		return nil, nil, err
	}
	train, test = rows.Split(0.8, c.Seed)
	return train, test, nil
}

// compare says how good a model of generated clicks can be.
func (c *config) compare(ctx context.Context, r *train.Run) error {
	if !r.Leads() {
		return nil
	}
	_, test, err := r.Job.Data(ctx)
	if err != nil {
		return err
	}
	best, err := bestAUC(test)
	fmt.Fprintf(r.Job.Stdout, "no model can do better than %.4f: that have the chances which these clicks were drawn "+
		"with\n", best)
	return err
}

// bestAUC is the AUC of the chances themselves.
func bestAUC(test *dataset.Dataset) (float64, error) {
	h := nn.NewHistogram()
	for batch, err := range test.Batches(1000) {
		if err != nil {
			return 0, err
		}
		labels := batch[clicks.Label].Float32s()
		for i, p := range batch[clicks.Chance].Float32s() {
			h.Add(p, labels[i] > 0)
		}
	}
	return h.AUC(), nil
}
