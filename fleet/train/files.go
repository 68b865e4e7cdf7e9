package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/internal/files"
)

// Files are rows in files, which a worker reads into memory. Rows to train on and rows to evaluate on are parted at
// random, or are in files of their own.
type Files struct {
	// Format is that of all files.
	Format dataset.Format
	// Paths are files, patterns such as data/*.csv, and directories, of which all files are read but names that begin
	// with "." or "_", and texts about the others (README, *.md).
	Paths []string
	// Test are paths of test rows; without any they are a share of the others.
	Test []string
	// HeldOut is that share; 0 is 0.2, and a negative one leaves all rows to training. Rows are parted by their number,
	// so that others are held out where rows come before them that an earlier job did not have: give such jobs Test.
	HeldOut float64
	// Take is how many rows of Paths are taken, at random; 0 is all.
	Take int
	// Seed is that of what is at random.
	Seed uint64
}

// Load reads the rows; test is nil if there are none. Paths without rows are an error.
func (f Files) Load(ctx context.Context) (train, test *dataset.Dataset, err error) {
	share := cmp.Or(f.HeldOut, 0.2)
	if f.Format == nil || len(f.Paths) == 0 || share >= 1 {
		return nil, nil, fmt.Errorf("train: Files with Format %T, Paths %q and HeldOut %v: it needs a format, a path, "+
			"and a share below 1", f.Format, f.Paths, share)
	}
	if train, err = f.read(ctx, f.Paths); err != nil {
		return nil, nil, err
	}
	if both := shared(f.Paths, f.Test); both != "" {
		slog.Warn("train: a file of test rows is one of training rows: its rows are trained on and tested on", "file",
			both)
	}
	if f.Take > 0 {
		train = train.Shuffle(f.Seed).Take(f.Take)
	}
	switch {
	case len(f.Test) > 0:
		test, err = f.read(ctx, f.Test)
	case share > 0:
		train, test = train.Split(1-share, f.Seed)
	}
	return train, test, err
}

// shared is a file of tests that is one of paths, under whatever name, or "". What can't be had is told when it is
// read.
func shared(paths, tests []string) string {
	train, _ := listed(paths)
	test, _ := listed(tests)
	known := map[string]bool{}
	for _, name := range train {
		known[whole(name)] = true
	}
	for _, name := range test {
		if path := whole(name); path != "" && known[path] {
			return name
		}
	}
	return ""
}

// again is the first file of names that came before, under whatever name, or "".
func again(names []string) string {
	known := map[string]bool{}
	for _, name := range names {
		path := whole(name)
		if path != "" && known[path] {
			return name
		}
		known[path] = true
	}
	return ""
}

// whole is the path of a file without links, or "" for what has none, such as a pipe, which is read once.
func whole(name string) string {
	if files.IsURL(name) {
		return files.Clean(name)
	}
	path, err := filepath.EvalSymlinks(name)
	if err != nil {
		return ""
	}
	path, _ = filepath.Abs(path)
	return path
}

// listed are the files at paths.
func listed(paths []string) (found []string, err error) {
	for _, p := range paths {
		below, err := filesOf(p)
		if err != nil {
			return nil, err
		}
		found = append(found, below...)
	}
	return found, nil
}

func (f Files) read(ctx context.Context, paths []string) (*dataset.Dataset, error) {
	found, err := listed(paths)
	if err != nil {
		return nil, err
	}
	if twice := again(found); twice != "" {
		slog.Warn("train: a file is named twice, and its rows count twice", "file", twice, "paths",
			strings.Join(paths, ", "))
	}
	rows, err := dataset.FromFiles(f.Format, found...).Load(ctx)
	if errors.Is(err, dataset.ErrBadLine) {
		err = fmt.Errorf("%w (read as %T)", err, f.Format)
	}
	if err != nil {
		return nil, err
	}
	if n, _ := rows.Len(); n == 0 {
		_, err := rows.Batch(ctx)
		return nil, fmt.Errorf("train: %s: no rows in %d files: %w", strings.Join(paths, ", "), len(found), err)
	}
	return rows, nil
}

// filesOf is a file, the files of a pattern, or a directory's files that hold rows.
func filesOf(path string) (found []string, err error) {
	st, err := files.Stat(path)
	if err != nil {
		if matches, e := files.Match(path); e == nil && len(matches) > 0 {
			return matches, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("train: rows in files: %w", err)
	}
	if !st.IsDir() {
		return []string{path}, nil
	}
	entries, err := files.ReadDir(path)
	for _, e := range entries {
		name := e.Name()
		about := strings.HasPrefix(name, "README") || strings.EqualFold(filepath.Ext(name), ".md")
		if !e.IsDir() && !about && name[0] != '.' && name[0] != '_' {
			found = append(found, files.Join(path, name))
		}
	}
	slices.Sort(found)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("train: directory %s holds no files", path)
	}
	return found, err
}
