// Package rows reads the rows that example programs train on.
package rows

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofleet/gofleet/dataset"
)

// Read gives the rows of a file, or of the files of a directory that are not hidden, all in memory. A path without rows is an error.
func Read(ctx context.Context, format dataset.Format, path string) (*dataset.Dataset, error) {
	files, err := filesOf(path)
	if err != nil {
		return nil, err
	}
	rows, err := dataset.FromFiles(format, files...).Load(ctx)
	if err != nil {
		return nil, err
	}
	if n, _ := rows.Len(); n == 0 {
		return nil, fmt.Errorf("%s holds no rows", path)
	}
	return rows, nil
}

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

// Split parts rows four to one, at random by the seed. Rows so few that none is left to train on are an error.
func Split(rows *dataset.Dataset, seed uint64) (train, test *dataset.Dataset, err error) {
	train, test = rows.Split(0.8, seed)
	if n, _ := train.Len(); n == 0 {
		return nil, nil, errors.New("no row is left to train on: every one fell to the test rows")
	}
	return train, test, nil
}
