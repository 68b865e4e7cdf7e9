package parquet

import (
	"context"
	"fmt"
	"io/fs"
	"runtime"

	"github.com/gofleet/gofleet/dataset"
)

// Files is a source that reads Parquet files one after the other.
type Files struct {
	Paths []string
	// FS is where the paths lie; nil is the machine's file system. Its files have to be io.ReaderAt.
	FS fs.FS
	// Missing is the number that null becomes in columns that don't say it themselves. By default a row that has one is
	// bad, and ends the pass with a [dataset.LineError]; a varying column has none, and hashed text is hashed as "".
	Missing string
	// Derived are fields that are made of others, as of lines. Their Layout reads columns of text and, as text, columns
	// of times and of dates: it is how the lines write them that the model is served with.
	Derived []dataset.Derived
	// Schema says what becomes of a file's columns, which Fields name: by their paths, with dots, or by the first name
	// of a path that leads to one column, as that of a list does. The fields of a column share its values evenly: one
	// of several is a list. Numbers become the column's type if they fit it, booleans 1 and 0; text is hashed.
	// [dataset.JSONLines] with this Schema, Derived and Missing makes the same rows of the same values as text: it is
	// the format of the lines that a model is served with.
	Schema []dataset.CSVColumn
	// Threads is how many goroutines make rows, as that of [dataset.Files]: 0 is as many as there are cores
	// (GOMAXPROCS) while rows are loaded into memory, and 1 otherwise. Rows come in the order of the files, however
	// many make them. Each has a row group in hand, of a file with an offset index (a page index) some 65536 rows of
	// one, and the memory of their rows.
	Threads int
}

// FromFiles is a dataset of Parquet files. [Files] has more options.
func FromFiles(schema []dataset.CSVColumn, paths ...string) *dataset.Dataset {
	return dataset.New(&Files{Paths: paths, Schema: schema})
}

// Columns are Schema's.
func (f *Files) Columns() (columns []dataset.Column) {
	for _, c := range f.Schema {
		columns = append(columns, c.Column)
	}
	return columns
}

// Open starts a pass. Epoch makes no difference.
func (f *Files) Open(epoch int) (dataset.Reader, error) {
	return f.OpenContext(context.Background(), epoch)
}

// OpenContext is Open with a context that ends the pass.
func (f *Files) OpenContext(ctx context.Context, _ int) (dataset.Reader, error) {
	uses, _, err := f.uses()
	if err != nil {
		return nil, err
	}
	if f.Threads < 0 {
		return nil, fmt.Errorf("%w Files.Threads is %d: want 0 or more goroutines", dataset.ErrOption, f.Threads)
	}
	c := cutter{Files: f, ctx: ctx, uses: uses}
	if n := f.threads(ctx); n > 1 {
		return newCrewReader(ctx, c, n)
	}
	return &reader{files: c}, nil
}

// threads is how many goroutines make rows in a pass.
func (f *Files) threads(ctx context.Context) int {
	switch {
	case f.Threads > 0:
		return f.Threads
	case dataset.Loading(ctx):
		return runtime.GOMAXPROCS(0)
	}
	return 1
}

// ended says that the pass was given up.
func ended(ctx context.Context) error {
	return fmt.Errorf("dataset: reading files was ended: %w", context.Cause(ctx))
}
