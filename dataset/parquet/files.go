package parquet

import (
	"context"
	"fmt"
	"io/fs"
	"runtime"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/internal/files"
)

// Files is a source that reads Parquet files one after the other.
type Files struct {
	Paths []string
	// FS is where the paths lie; nil is the machine's file system. Its files have to be io.ReaderAt.
	FS fs.FS
	// Missing is the number for nulls in columns without a Missing of their own. By default a row with a null ends the
	// pass with a [dataset.LineError]. Varying columns skip nulls, and a null in a hashed column is hashed as "".
	Missing string
	// Derived are fields computed from others, as for text formats. Their Layout applies to columns of text and, as
	// their text form, to columns of times and dates: the layout in the lines that the model will be served with.
	Derived []dataset.Derived
	// Schema maps a file's columns, named in Fields, to columns of rows. A name is a path with dots, or the first part
	// of a path that leads to a single column, such as a list's. The values of a column are divided evenly over its
	// fields: a field of several values is a list. Numbers and decimals are converted to the column's type if they fit,
	// booleans become 1 and 0, and text is hashed. Times and dates are numbers of their unit since 1970, those of INT96
	// nanoseconds. They are not hashed: a Derived field of them is. [dataset.JSONLines] with the same Schema, Derived
	// and Missing gives the same rows for the same values as text; use it as the format of lines that a model is served
	// with.
	Schema []dataset.CSVColumn
	// Threads is how many goroutines decode rows, as in [dataset.Files]: 0 means the number of cores (GOMAXPROCS) while
	// rows are loaded into memory, and 1 otherwise. The order of rows is that of the files in any case. Each goroutine
	// holds one row group in memory, or some 65536 rows of it if the file has an offset index (page index).
	Threads int
}

// FromFiles is a dataset of Parquet files. [Files] has more options.
func FromFiles(schema []dataset.CSVColumn, paths ...string) *dataset.Dataset {
	return dataset.New(&Files{Paths: paths, Schema: schema})
}

// Columns returns the columns of Schema.
func (f *Files) Columns() (columns []dataset.Column) {
	for _, c := range f.Schema {
		columns = append(columns, c.Column)
	}
	return columns
}

// Open starts a pass. epoch makes no difference.
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

// threads returns the number of goroutines that decode rows in a pass.
func (f *Files) threads(ctx context.Context) int {
	switch {
	case f.Threads > 0:
		return f.Threads
	case files.Loading(ctx):
		return runtime.GOMAXPROCS(0)
	}
	return 1
}

// ended is the error of a pass that was given up.
func ended(ctx context.Context) error {
	return fmt.Errorf("dataset: reading files was ended: %w", context.Cause(ctx))
}
