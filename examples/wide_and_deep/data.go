package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/examples/wide_and_deep/flights"
)

// load returns training and test rows, four to one, and how many categories a row has.
func load(ctx context.Context, c config) (train, test *dataset.Dataset, categories int, err error) {
	rows, categories, err := source(c)
	if err == nil && c.data != "" {
		rows, err = rows.Load(ctx)
	}
	if err != nil {
		return nil, nil, 0, err
	}
	if c.rows > 0 {
		rows = rows.Shuffle(c.seed).Take(c.rows)
	}
	train, test = rows.Split(0.8, c.seed)
	return train, test, categories, nil
}

func source(c config) (*dataset.Dataset, int, error) {
	if c.data == "" {
		data, err := flights.Load()
		if err != nil {
			return nil, 0, err
		}
		return flights.Dataset(data), len(flights.Categories()), nil
	}
	files, err := filesOf(c.data)
	if err != nil {
		return nil, 0, err
	}
	switch c.format {
	case "criteo":
		return dataset.FromFiles(dataset.Criteo{}, files...), 26, nil
	case "slots":
		return dataset.FromFiles(dataset.CriteoSlots(), files...), 26, nil
	}
	return nil, 0, fmt.Errorf("-format=%s: there are criteo and slots", c.format)
}

// filesOf is the file itself, or all files of a directory.
func filesOf(path string) ([]string, error) {
	st, err := os.Stat(path)
	if err != nil || !st.IsDir() {
		return []string{path}, err
	}
	return filepath.Glob(filepath.Join(path, "*"))
}
