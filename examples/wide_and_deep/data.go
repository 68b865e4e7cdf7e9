package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/examples/wide_and_deep/flights"
)

// categories is how many a row has.
func categories(c config) int {
	if c.data == "" {
		return len(flights.Categories())
	}
	return 26
}

// load returns training and test rows. Without test rows of their own they are four to one.
func load(ctx context.Context, c config) (train, test *dataset.Dataset, err error) {
	train, err = source(ctx, c, c.data)
	if err != nil {
		return nil, nil, err
	}
	if c.rows > 0 {
		train = train.Shuffle(c.seed).Take(c.rows)
	}
	if c.test == "" {
		train, test = train.Split(0.8, c.seed)
	} else {
		test, err = source(ctx, c, c.test)
	}
	if n, _ := train.Len(); err == nil && n == 0 {
		err = errors.New("no row is left to train on: every one fell to the test rows")
	}
	return train, test, err
}

// source is the rows under a path, all in memory; no path is the flights.
func source(ctx context.Context, c config, path string) (*dataset.Dataset, error) {
	if path == "" {
		data, err := flights.Load()
		if err != nil {
			return nil, err
		}
		return flights.Dataset(data), nil
	}
	format, err := formatOf(c)
	if err != nil {
		return nil, err
	}
	files, err := filesOf(path)
	if err != nil {
		return nil, err
	}
	rows, err := dataset.FromFiles(format, files...).Load(ctx)
	switch {
	case errors.Is(err, dataset.ErrBadLine):
		return nil, fmt.Errorf("%w (read as -format=%s)", err, c.format)
	case err != nil:
		return nil, err
	}
	if n, _ := rows.Len(); n == 0 {
		return nil, fmt.Errorf("%s holds no rows", path)
	}
	return rows, nil
}

func formatOf(c config) (dataset.Format, error) {
	switch c.format {
	case "criteo":
		return dataset.Criteo{Dense: c.dense}, nil
	case "slots":
		return dataset.CriteoSlots(), nil
	}
	return nil, fmt.Errorf("-format=%s: there are criteo and slots", c.format)
}

// filesOf is the file itself, or the files of a directory that are not hidden.
func filesOf(path string) (files []string, err error) {
	st, err := os.Stat(path)
	if err != nil || !st.IsDir() {
		return []string{path}, err
	}
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		if !e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			files = append(files, filepath.Join(path, e.Name()))
		}
	}
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("directory %s holds no files", path)
	}
	return files, err
}
