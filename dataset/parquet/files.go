package parquet

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/parquet-go/parquet-go"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/internal/files"
)

// Files is a source that reads Parquet files one after the other.
type Files struct {
	Paths []string
	// FS is where the paths lie; nil is the machine's file system. Its files have to be io.ReaderAt.
	FS fs.FS
	// Missing is the number that null becomes in columns that don't say it themselves. By default a row that has one is bad, and ends the
	// pass with a [dataset.LineError]; a varying column has none, and hashed text is hashed as "".
	Missing string
	// Schema says what becomes of a file's columns, which Fields name: by their paths, with dots, or by the first name of a path that leads
	// to one column, as that of a list does. The fields of a column share its values evenly: one of several is a list. Numbers become the
	// column's type if they fit it, booleans 1 and 0; text is hashed. [dataset.JSONLines] with this Schema and Missing makes the same rows
	// of the same values as text: it is the format of the lines that a model is served with.
	Schema []dataset.CSVColumn
}

// FromFiles is a dataset of Parquet files. [Files] has more options.
func FromFiles(schema []dataset.CSVColumn, paths ...string) *dataset.Dataset {
	return dataset.New(&Files{Paths: paths, Schema: schema})
}

// Columns are those of Schema.
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
	uses, err := f.uses()
	if err != nil {
		return nil, err
	}
	return &reader{Files: f, ctx: ctx, uses: uses}, nil
}

// reader is one pass over files.
type reader struct {
	*Files
	ctx    context.Context
	uses   []use
	opened int // files so far
	path   string
	file   io.Closer
	groups []parquet.RowGroup // of the file, still to be read
	rest   int64              // rows of the group that is being read
	row    int                // of the file, from 1
}

// Read appends rows. What the library panics about in a broken file is an error.
func (r *reader) Read(t *dataset.Table, n int) (got int, err error) {
	before := t.Len()
	defer func() {
		if p := recover(); p != nil {
			got, err = t.Len()-before, fmt.Errorf("dataset: %s: the file is broken: %v", r.path, p)
		}
	}()
	for t.Len()-before < n {
		if err := r.ready(); err != nil {
			if err == io.EOF && t.Len() > before {
				err = nil
			}
			return t.Len() - before, err
		}
		t.At(r.path, r.row+1)
		if err := t.Add(r.fill); err != nil {
			return t.Len() - before, r.place(err)
		}
		r.row++
		r.rest--
	}
	return t.Len() - before, nil
}

// ready goes on to the next group of rows, of the next file, where the last has been read.
func (r *reader) ready() error {
	for r.rest == 0 {
		if ended := context.Cause(r.ctx); ended != nil {
			return fmt.Errorf("dataset: reading files was ended: %w", ended)
		}
		r.closeGroup()
		if len(r.groups) == 0 {
			if err := r.nextFile(); err != nil {
				return err
			}
			continue
		}
		group := r.groups[0]
		r.groups, r.rest = r.groups[1:], group.NumRows()
		for i := range r.uses {
			u := &r.uses[i]
			u.pages = group.ColumnChunks()[u.leaf].Pages()
		}
	}
	return nil
}

// nextFile opens the next file.
func (r *reader) nextFile() error {
	if err := r.closeFile(); err != nil {
		return err
	}
	if r.opened == len(r.Paths) {
		return io.EOF
	}
	r.path = r.Paths[r.opened]
	r.opened++
	r.row = 0
	f, size, err := r.open()
	if err != nil {
		return err
	}
	if err := checkFooter(f, size); err != nil {
		return fmt.Errorf("dataset: %s: %w", r.path, err)
	}
	file, err := parquet.OpenFile(f, size)
	if err != nil {
		return fmt.Errorf("dataset: %s: %w", r.path, err)
	}
	r.groups = file.RowGroups()
	for i := range r.uses {
		if err := r.uses[i].find(file.Schema()); err != nil {
			return fmt.Errorf("dataset: %s: %w", r.path, err)
		}
	}
	return nil
}

// checkFooter refuses a file whose end says that more stands before it than there is, for which the library would take memory at once.
func checkFooter(f io.ReaderAt, size int64) error {
	var end [8]byte
	if size < int64(len(end)) {
		return fmt.Errorf("a file of %d bytes is no Parquet file", size)
	}
	if _, err := f.ReadAt(end[:], size-int64(len(end))); err != nil && err != io.EOF {
		return err
	}
	if footer := int64(binary.LittleEndian.Uint32(end[:])); footer+int64(len(end)) > size {
		return fmt.Errorf("no Parquet file, or it is cut off: its end tells of a footer of %d bytes, and the file has %d", footer, size)
	}
	return nil
}

// open opens the file at path.
func (r *reader) open() (io.ReaderAt, int64, error) {
	var f fs.File
	var err error
	if r.FS != nil {
		f, err = r.FS.Open(r.path)
	} else if err = files.CheckLocal(r.path); err == nil {
		f, err = os.Open(r.path)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("dataset: %w", err)
	}
	r.file = f
	at, ok := f.(io.ReaderAt)
	if !ok {
		return nil, 0, fmt.Errorf("dataset: %s: its file system has files without ReadAt, which a Parquet file needs", r.path)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, fmt.Errorf("dataset: %w", err)
	}
	return at, info.Size(), nil
}

// fill sets a row from the next value or values of each use.
func (r *reader) fill(row dataset.Row) error {
	for i := range r.uses {
		if err := r.uses[i].fill(row); err != nil {
			return err
		}
	}
	return nil
}

// place says in which row of which file an error arose.
func (r *reader) place(err error) error {
	if bad, ok := errors.AsType[*dataset.LineError](err); ok {
		bad.File, bad.Line = r.path, r.row+1
		return fmt.Errorf("dataset: bad row: %w", bad)
	}
	return fmt.Errorf("dataset: %s:%d: %w", r.path, r.row+1, err)
}

// closeGroup lets go of the pages of a group.
func (r *reader) closeGroup() {
	for i := range r.uses {
		r.uses[i].close()
	}
}

func (r *reader) closeFile() error {
	if r.file == nil {
		return nil
	}
	f := r.file
	r.file = nil
	return f.Close()
}

// Close ends the pass.
func (r *reader) Close() error {
	r.closeGroup()
	return r.closeFile()
}
