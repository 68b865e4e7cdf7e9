package dataset

import (
	"context"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"slices"
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/unpack"
)

// Files is a source that reads text files one after the other, each plain, gzip or zstd. Empty lines are skipped.
//
//	d := dataset.New(&dataset.Files{Paths: paths, Format: dataset.Criteo{}, SkipBad: 100})
type Files struct {
	Paths  []string
	Format Format
	// FS is the file system of the paths; nil means the machine's and, for URLs, the stores that the program has
	// mounted (package fleet/store). Files in stores are read some megabytes ahead, and an interrupted download
	// continues where it broke off.
	FS fs.FS
	// PipeCommand, if set, is a shell command that filters every file: it gets the unmodified file on standard input,
	// and its output is read instead. If it fails, the pass ends with an error that has the end of its standard error.
	// The command is not sandboxed.
	PipeCommand string
	// SkipBad is how many bad lines one pass may skip before it fails. 0, the default, fails at the first. At the end
	// of a pass that skipped some, their number and the first of them are logged.
	SkipBad int
	// OnBad, if set, is called for every skipped line, on the reading goroutine; nothing is logged then.
	OnBad func(*LineError)
	// Threads is how many goroutines parse lines. 0 means the number of cores (GOMAXPROCS) while rows in a format of
	// this package or that are Linewise are loaded into memory, and 1 otherwise, since a training loop runs at the
	// same time. More than 1 needs a format whose parsers treat every line independently. The order of rows is the
	// order of lines in any case.
	Threads int

	reader io.Reader // read once, in place of paths
	used   *atomic.Bool
	ended  func(skips) // gets the skipped lines of a pass
	sum    hash.Hash   // of all lines; nil if not wanted
	mine   *selection  // the lines of this worker; nil for all
}

// FromFiles makes a dataset of text files; any bad line ends the pass. [Files] has more options.
func FromFiles(format Format, paths ...string) *Dataset {
	return New(&Files{Paths: slices.Clone(paths), Format: format})
}

// FromReader makes a dataset of one text, plain, gzip or zstd, that can be read once. Errors refer to it by name.
func FromReader(r io.Reader, name string, format Format) *Dataset {
	return New(&Files{Paths: []string{name}, Format: format, reader: r, used: new(atomic.Bool)})
}

// Columns returns the format's columns, or none if its options are wrong.
func (f *Files) Columns() []Column {
	if f.Format == nil {
		return nil
	}
	columns, err := f.Format.Columns()
	if err != nil {
		return nil
	}
	return columns
}

// check returns what is wrong with the options, or nil.
func (f *Files) check() error {
	if f.Format == nil {
		return fmt.Errorf("%w Files.Format: want a format such as dataset.Criteo{}", ErrOption)
	}
	if f.Threads < 0 {
		return fmt.Errorf("%w Files.Threads is %d: want 0 or more goroutines", ErrOption, f.Threads)
	}
	if f.SkipBad < 0 {
		return fmt.Errorf("%w Files.SkipBad is %d: want 0 or more lines", ErrOption, f.SkipBad)
	}
	_, err := f.Format.Columns()
	return err
}

// Shard returns the same files with only the lines of one worker. All non-empty lines of all files are counted, bad or
// good.
func (f *Files) Shard(index, workers int) Source {
	return f.only(shard(index, workers))
}

// only returns the same files with only the lines that are mine.
func (f *Files) only(mine selection) Source {
	if f.mine != nil { // a share of a share counts the remaining lines
		return &chosen{f, mine}
	}
	next := *f
	next.mine = &mine
	return &next
}

// Open starts a pass. epoch makes no difference.
func (f *Files) Open(epoch int) (Reader, error) { return f.OpenContext(context.Background(), epoch) }

// OpenContext is Open with a context that ends the pass, together with the pipe command and all processes that it has
// started.
func (f *Files) OpenContext(ctx context.Context, _ int) (Reader, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	if f.used != nil && f.used.Swap(true) {
		return nil, fmt.Errorf("%w: %s", ErrOnePass, f.Paths[0])
	}
	if n := f.threads(ctx); n > 1 {
		return newCrewReader(ctx, f, n), nil
	}
	return &filesReader{lineReader: lineReader{Files: f, ctx: ctx}}, nil
}

// open opens the file at path, or the reader in its place.
func (f *Files) open(ctx context.Context, path string) (io.ReadCloser, error) {
	if f.reader == nil {
		return openFile(ctx, f.FS, path, f.PipeCommand)
	}
	r, err := unpack.Open(interruptible(ctx, io.NopCloser(f.reader), f.reader))
	if err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", path, err)
	}
	return r, nil
}
