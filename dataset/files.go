package dataset

import (
	"context"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"slices"
	"sync/atomic"
)

// Files is a source that reads text files one after the other, each plain, gzip or zstd. Empty lines are passed over.
//
//	d := dataset.New(&dataset.Files{Paths: paths, Format: dataset.Criteo{}, SkipBad: 100})
type Files struct {
	Paths  []string
	Format Format
	// FS is where the paths lie; nil is the machine's file system, and for URLs the stores that the program has mounted
	// (package fleet/store): of a file there some megabytes are read ahead, and what breaks off goes on where it did.
	FS fs.FS
	// PipeCommand, if set, is a command of the shell that every file goes through: it reads the file, as it lies there,
	// on its standard input, and what it writes is read instead. One that fails ends the pass, with its last words on
	// standard error. The command's author is trusted.
	PipeCommand string
	// SkipBad is how many bad lines one pass may pass over before it fails. 0, the default, fails at the first. The end
	// of a pass that has passed over some is logged, with their number and the first of them.
	SkipBad int
	// OnBad, if set, is told of every bad line that is passed over, on the goroutine that reads; nothing is logged
	// then.
	OnBad func(*LineError)
	// Threads is how many goroutines parse lines. 0 is as many as there are cores (GOMAXPROCS) while rows are loaded
	// into memory in a format of this package or a [LinewiseFormat], and 1 otherwise, since a loop over batches
	// trains meanwhile. More than 1 needs a format whose parsers take every line for itself. Rows come in the order of
	// their lines, however many parse them.
	Threads int

	reader io.Reader // read once, in place of paths
	used   *atomic.Bool
	ended  func(skips) // is told what a pass has passed over
	sum    hash.Hash   // of all lines, if it is wanted
	mine   *selection  // which lines are this worker's; nil: all
}

// FromFiles is a dataset of text files; any bad line ends it. [Files] has more options.
func FromFiles(format Format, paths ...string) *Dataset {
	return New(&Files{Paths: slices.Clone(paths), Format: format})
}

// FromReader is a dataset of one text, plain, gzip or zstd, that can be passed over once. Name stands for it in errors.
func FromReader(r io.Reader, name string, format Format) *Dataset {
	return New(&Files{Paths: []string{name}, Format: format, reader: r, used: new(atomic.Bool)})
}

// Columns are the format's, or none when its options are wrong.
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

// check says what is wrong with the options.
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

// Shard is the same files with only the lines of one worker. Numbers count all lines that aren't empty, bad or good,
// over all files.
func (f *Files) Shard(index, workers int) Source {
	return f.only(shard(index, workers))
}

// only is the same files with the lines that are mine.
func (f *Files) only(mine selection) Source {
	if f.mine != nil { // a share of a share goes by what is left
		return &chosen{f, mine}
	}
	next := *f
	next.mine = &mine
	return &next
}

// Open starts a pass. Epoch makes no difference.
func (f *Files) Open(epoch int) (Reader, error) { return f.OpenContext(context.Background(), epoch) }

// OpenContext is Open with a context that ends the pass, and with it the pipe command and all that it has started.
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

// open opens the file at path, or the reader that stands for it.
func (f *Files) open(ctx context.Context, path string) (io.ReadCloser, error) {
	if f.reader == nil {
		return openFile(ctx, f.FS, path, f.PipeCommand)
	}
	r, err := unpack(interruptible(ctx, io.NopCloser(f.reader), f.reader))
	if err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", path, err)
	}
	return r, nil
}
