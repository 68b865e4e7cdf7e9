package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet/train/internal/verdict"
	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/nn"
)

// Files are the files of a job's rows, which a worker reads into memory. Test rows are split off at random, by order or
// by a column, or are in separate files.
type Files struct {
	// Format is the format of all files. A label takes its column's own Missing, not that of the whole format.
	Format dataset.Format
	// Paths are files, patterns such as data/*.csv, and directories, whose files are all read, also those of
	// directories below, except names that begin with "." or "_", and documentation (README, *.md).
	Paths []string
	// Test are the paths of test rows; without any, a share of Paths is held out.
	Test []string
	// HeldOut is that share; 0 means 0.2, and a negative value holds out none. The choice depends on a row's number, so
	// adding rows at the beginning changes which rows are held out; use Test in such jobs.
	HeldOut float64
	// Last holds out the last rows of Paths, in their order, instead of random ones. If rows are ordered by time, the
	// model will be used on rows later than its training data, and random test rows make it look too good.
	Last bool
	// LastBy is Last by a column of Format with one number per row, such as a time; no node needs to use the column.
	// The rows with the largest numbers are held out, together with all that equal the smallest of these. In a Sharded
	// job each worker splits its own rows, so the boundary differs between workers.
	LastBy string
	// GroupBy is a column of Format, such as the id of a user: rows with equal values in it are held out together, so
	// that the model is tested on groups that it has not seen. HeldOut is the share of groups, chosen at random.
	GroupBy string
	// Take is how many rows of Paths to use, at random; 0 means all. With Last or LastBy each side gets its share of
	// them.
	Take int
	// Seed is the seed of all random choices.
	Seed uint64
}

// Load reads the rows; test is nil if there are none. Paths without rows are an error.
func (f Files) Load(ctx context.Context) (train, test *dataset.Dataset, err error) {
	share := cmp.Or(f.HeldOut, 0.2)
	if f.Format == nil || len(f.Paths) == 0 || share >= 1 {
		return nil, nil, fmt.Errorf("train: Files with Format %T, Paths %q and HeldOut %v: it needs a format, a path, "+
			"and a share below 1", f.Format, f.Paths, share)
	}
	if err := f.checkSplit(share); err != nil {
		return nil, nil, err
	}
	if train, err = f.read(ctx, f.Paths); err != nil {
		return nil, nil, err
	}
	if both := shared(f.Paths, f.Test); both != "" {
		slog.Warn("train: a file of test rows is one of training rows: its rows are trained on and tested on", "file",
			both)
	}
	if len(f.Test) > 0 || share < 0 {
		if train = f.take(train, 1); len(f.Test) > 0 {
			test, err = f.read(ctx, f.Test)
		}
		return train, test, err
	}
	return f.part(train, share)
}

// withLabels returns files whose labels do not take the Missing of the whole format: a label that is made up is a wrong
// one.
func (f Files) withLabels(loss *nn.Node) Files {
	each := func(schema []dataset.CSVColumn, missing string) []dataset.CSVColumn {
		schema = slices.Clone(schema)
		for i, c := range schema {
			is := func(a verdict.Aim) bool { return a.Label.Name() == c.Name }
			if c.Missing == "" && c.Hash == 0 && !slices.ContainsFunc(verdict.Aims(loss), is) {
				schema[i].Missing = missing
			}
		}
		return schema
	}
	switch format := f.Format.(type) {
	case dataset.CSV:
		format.Schema, format.Missing = each(format.Schema, format.Missing), ""
		f.Format = format
	case dataset.JSONLines:
		format.Schema, format.Missing = each(format.Schema, format.Missing), ""
		f.Format = format
	}
	return f
}

// checkGroups refuses groups of rows by the label: all test rows would have labels that no row to train on has.
func (f Files) checkGroups(loss *nn.Node) error {
	for _, a := range verdict.Aims(loss) {
		if f.GroupBy == a.Label.Name() {
			return fmt.Errorf("train: Files.GroupBy is the label %q: test rows would have labels that none to train "+
				"on has; group by whose the rows are, such as a user's id", f.GroupBy)
		}
	}
	return nil
}

// checkSplit refuses ways of splitting rows that would have no effect, or contradict each other.
func (f Files) checkSplit(share float64) error {
	var ways []string
	for _, w := range []struct {
		name string
		on   bool
	}{{"Last", f.Last && f.LastBy == ""}, {"LastBy", f.LastBy != ""}, {"GroupBy", f.GroupBy != ""}} {
		if w.on {
			ways = append(ways, "Files."+w.name)
		}
	}
	says := strings.Join(ways, " and ")
	switch {
	case len(ways) > 1:
		return fmt.Errorf("train: %s are set: one of them says which rows are held out", says)
	case len(ways) == 1 && len(f.Test) > 0:
		return fmt.Errorf("train: %s says which rows are held out, and Files.Test has files of test rows: give one of "+
			"them", says)
	case slices.ContainsFunc(lined(f.Format).Schema, func(c dataset.CSVColumn) bool {
		return c.Name == f.LastBy && c.Hash > 0
	}):
		return fmt.Errorf("train: Files.LastBy is %q, a column of hashes, which have no order: name one of numbers, "+
			"such as a dataset.Derived field that is the Seconds of a time", f.LastBy)
	case len(ways) == 1 && share < 0:
		return fmt.Errorf("train: %s says which rows are held out, and Files.HeldOut, %v, that none are", says, share)
	}
	return nil
}

// part splits the rows into those to train on and those held out.
func (f Files) part(rows *dataset.Dataset, share float64) (train, test *dataset.Dataset, err error) {
	last := f.Last || f.LastBy != ""
	if !last { // with Last, rows are taken after the split: taken rows are not in order of time
		rows = f.take(rows, 1)
	}
	all, _ := rows.Len()
	switch {
	case f.LastBy != "":
		train, test = rows.SplitLast(f.LastBy, 1-share)
	case last:
		first := int(math.Round(float64(all) * (1 - share)))
		train, test = rows.Take(first), rows.Skip(first)
	case f.GroupBy != "":
		train, test = rows.SplitGroups(f.GroupBy, 1-share, f.Seed)
	default:
		train, test = rows.Split(1-share, f.Seed)
		return train, test, nil
	}
	if err := train.Err(); err != nil {
		return nil, nil, fmt.Errorf("train: Files: %w", err)
	}
	first, _ := train.Len()
	if first == 0 || first == all {
		return nil, nil, fmt.Errorf("train: Files: all %d rows are on one side of the split into rows to train on and "+
			"rows that are held out: HeldOut is too small or too large for them, or the column %q has too few values",
			all, f.LastBy+f.GroupBy)
	}
	if last {
		before := float64(first) / float64(all)
		train, test = f.take(train, before), f.take(test, 1-before)
	}
	return train, test, nil
}

// take takes a share of Take rows at random, or all.
func (f Files) take(rows *dataset.Dataset, share float64) *dataset.Dataset {
	if f.Take <= 0 {
		return rows
	}
	return rows.Shuffle(f.Seed).Take(int(math.Round(share * float64(f.Take))))
}

// shared is a file of tests that is also one of paths, under any name, or "". Paths that can't be listed are reported
// when they are read.
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

// again is the first file in names that came before, under any name, or "".
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

// whole is the path of a file without links, or "" for one that has none, such as a pipe, which is read once.
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

// read reads the rows of files into memory; with names, only those columns.
func (f Files) read(ctx context.Context, paths []string) (*dataset.Dataset, error) {
	t, err := f.table(ctx, paths)
	if err != nil {
		return nil, err
	}
	return dataset.FromTable(t), nil
}

func (f Files) table(ctx context.Context, paths []string, columns ...string) (*dataset.Table, error) {
	found, err := listed(paths)
	if err != nil {
		return nil, err
	}
	if twice := again(found); twice != "" {
		slog.Warn("train: a file is named twice, and its rows count twice", "file", twice, "paths",
			strings.Join(paths, ", "))
	}
	rows := dataset.FromFiles(f.Format, found...)
	if len(columns) > 0 {
		rows = rows.Select(columns...)
	}
	t, err := rows.Table(ctx)
	if errors.Is(err, dataset.ErrBadLine) {
		err = fmt.Errorf("%w (read as %T)", err, f.Format)
	}
	if err != nil {
		return nil, err
	}
	if t.Len() == 0 {
		_, err := rows.Batch(ctx)
		return nil, fmt.Errorf("train: %s: no rows in %d files: %w", strings.Join(paths, ", "), len(found), err)
	}
	return t, nil
}

var errNoFiles = errors.New("holds no files")

// filesOf is a file, the files of a pattern, or a directory's files with rows, and those of the directories in it.
// above are the directories that it is in.
func filesOf(path string, above ...fs.FileInfo) (found []string, err error) {
	st, err := files.Stat(path)
	if err != nil {
		if matches, e := files.Match(path); e == nil && len(matches) > 0 {
			return matches, nil
		}
	}
	if err != nil && strings.ContainsAny(path, "*?[") {
		return nil, fmt.Errorf("train: rows in files: no file matches the pattern %s", path)
	}
	if err != nil {
		return nil, fmt.Errorf("train: rows in files: %w", err)
	}
	if !st.IsDir() {
		return []string{path}, nil
	}
	if slices.ContainsFunc(above, func(a fs.FileInfo) bool { return os.SameFile(a, st) }) {
		return nil, fmt.Errorf("train: rows in files: the link %s leads to a directory that it is in: remove it", path)
	}
	entries, err := files.ReadDir(path)
	for _, e := range entries {
		name := e.Name()
		about := strings.HasPrefix(name, "README") || strings.EqualFold(filepath.Ext(name), ".md")
		if about || name[0] == '.' || name[0] == '_' {
			continue
		}
		below := []string{files.Join(path, name)}
		if err == nil && (e.IsDir() || e.Type()&fs.ModeSymlink != 0) {
			below, err = filesOf(below[0], append(slices.Clone(above), st)...)
		}
		found = append(found, below...)
	}
	slices.Sort(found)
	if err == nil && len(found) == 0 && len(above) == 0 {
		err = fmt.Errorf("train: directory %s %w", path, errNoFiles)
	}
	return found, err
}
