package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/examples/internal/rows"
	"github.com/gofleet/gofleet/examples/wide_and_deep/flights"
)

// categories is how many a row has.
func (c *config) categories() int {
	if c.data == "" {
		return len(flights.Categories())
	}
	return 26
}

// load returns training and test rows. Without test rows of their own they are four to one.
func load(ctx context.Context, c *config) (train, test *dataset.Dataset, err error) {
	train, err = source(ctx, c, c.data)
	if err != nil {
		return nil, nil, err
	}
	if c.rows > 0 {
		train = train.Shuffle(c.Seed).Take(c.rows)
	}
	if c.test == "" {
		return rows.Split(train, c.Seed)
	}
	test, err = source(ctx, c, c.test)
	return train, test, err
}

// source is the rows under a path, all in memory; no path is the flights.
func source(ctx context.Context, c *config, path string) (*dataset.Dataset, error) {
	if path == "" {
		data, err := flights.Load()
		if err != nil {
			return nil, err
		}
		return flights.Dataset(data), nil
	}
	format, err := c.fileFormat()
	if err != nil {
		return nil, err
	}
	read, err := rows.Read(ctx, format, path)
	if errors.Is(err, dataset.ErrBadLine) {
		return nil, fmt.Errorf("%w (read as -format=%s)", err, c.format)
	}
	return read, err
}

func (c *config) fileFormat() (dataset.Format, error) {
	switch c.format {
	case "criteo":
		return dataset.Criteo{Dense: c.dense}, nil
	case "slots":
		return dataset.CriteoSlots(), nil
	}
	return nil, fmt.Errorf("-format=%s: there are criteo and slots", c.format)
}
