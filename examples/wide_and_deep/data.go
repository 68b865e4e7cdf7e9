package main

import (
	"context"
	"fmt"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/examples/wide_and_deep/flights"
	"github.com/gofleet/gofleet/fleet/train"
)

// categories is how many a row has.
func (c *config) categories() int {
	if c.data == "" {
		return len(flights.Categories())
	}
	return 26
}

// flights are training and test rows, four to one.
func (c *config) flights(context.Context) (train, test *dataset.Dataset, err error) {
	return flights.Split(c.rows, c.Seed)
}

// files are rows of click logs.
func (c *config) files() (train.Files, error) {
	f := train.Files{Format: dataset.Criteo{Dense: c.dense}, Paths: []string{c.data}, Take: c.rows, Seed: c.Seed}
	if c.test != "" {
		f.Test = []string{c.test}
	}
	switch c.format {
	case "slots":
		f.Format = dataset.CriteoSlots()
	case "criteo":
	default:
		return f, fmt.Errorf("-format=%s: want criteo or slots", c.format)
	}
	return f, nil
}
