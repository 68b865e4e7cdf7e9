package weights

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gofleet/gofleet/internal/files"
)

// File is an open file of named arrays, or an open saved model. Its methods may be called concurrently.
type File struct {
	name string
	in   contents
}

// contents is the content of one kind of file.
type contents interface {
	// names returns all arrays' names.
	names() []string
	// shape returns an array's shape, and whether there is such an array. For a saved model the shape is not known.
	shape(name string) ([]int, bool)
	array(name string) (Array, error)
	// rows calls do with each row of an embedding.
	rows(name string, do func(id uint64, w []float32) error) error
	close() error
}

// idsSuffix is the suffix of the name of the array with the ids of an embedding's rows.
const idsSuffix = ".ids"

// Open opens a file of arrays: numpy's .npz or .npy (one array, named after the file without its extension),
// .safetensors, or the initializers of .onnx; or the directory of a saved model, whose checksums are verified first
// (see serve.Load; a delta is refused). Open reads the header; arrays are read on demand. The file must be closed.
func Open(ctx context.Context, name string) (*File, error) {
	if err := files.CheckLocal(name); err != nil {
		return nil, fmt.Errorf("weights: %w", err)
	}
	in, err := open(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("weights: opening %s: %w", name, err)
	}
	return &File{name: name, in: in}, nil
}

func open(ctx context.Context, name string) (contents, error) {
	st, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if st.IsDir() {
		return openModel(ctx, name)
	}
	file, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	in, err := openStreams(file, st.Size(), name)
	if err != nil {
		file.Close()
		return nil, err
	}
	return arrays{in, file}, nil
}

func openStreams(r io.ReaderAt, size int64, name string) (streams, error) {
	switch filepath.Ext(name) {
	case ".npz":
		return openNPZ(r, size)
	case ".npy":
		return npyFile{r, size, strings.TrimSuffix(filepath.Base(name), ".npy")}, nil
	case ".safetensors":
		return openSafetensors(r, size)
	case ".onnx":
		return openONNX(r, size, filepath.Dir(name))
	}
	return nil, errors.New("want a file named *.npz, *.npy, *.safetensors or *.onnx, or a saved model's directory")
}

// Close closes the file.
func (f *File) Close() error { return f.in.close() }

// Names returns the names of the arrays, sorted. An embedding has an array with its name and, unless its ids are 0, 1,
// 2 and so on, an array name.ids.
func (f *File) Names() []string { return slices.Sorted(slices.Values(f.in.names())) }

// Array reads an array of float32, float64 (which is rounded), float16 or bfloat16.
func (f *File) Array(name string) (Array, error) {
	a, err := f.in.array(name)
	if err != nil {
		return Array{}, fmt.Errorf("weights: %s: %w", f.name, err)
	}
	return a, nil
}

// Rows iterates over the rows of an embedding in the order of the file, which may be larger than memory: an array [rows
// dim] of numbers that Array can read, and an array of integer ids. Without ids, row i belongs to id i. An error comes
// last, without a row.
func (f *File) Rows(name string) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		err := f.in.rows(name, func(id uint64, w []float32) error {
			if !yield(Row{id, w}, nil) {
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(Row{}, fmt.Errorf("weights: %s: %w", f.name, err))
		}
	}
}

// streams are the arrays of a file, each read separately.
type streams interface {
	names() []string
	shape(name string) ([]int, bool)
	open(name string) (*stream, error)
}

// arrays are contents made of streams.
type arrays struct {
	streams
	file io.Closer
}

func (a arrays) close() error { return a.file.Close() }

func (a arrays) array(name string) (Array, error) {
	s, err := a.open(name)
	if err != nil {
		return Array{}, err
	}
	defer s.close()
	n, err := elements(s.shape)
	if err != nil {
		return Array{}, err
	}
	w, err := s.floats(nil, n)
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return Array{}, fmt.Errorf("array %q: %w", name, err)
	}
	return Array{s.shape, w}, nil
}

func (a arrays) rows(name string, do func(id uint64, w []float32) error) error {
	s, err := a.open(name)
	if err != nil {
		return err
	}
	defer s.close()
	if len(s.shape) != 2 {
		return fmt.Errorf("array %q has shape %v, rows of an embedding have [rows dim]", name, s.shape)
	}
	if err := checkDim(s.shape[1]); err != nil && s.shape[0] > 0 {
		return fmt.Errorf("array %q: %w", name, err)
	}
	ids, err := a.ids(name, s.shape[0])
	if err != nil {
		return err
	}
	defer ids.close()
	if err := eachRow(s, ids, do); err != nil {
		return fmt.Errorf("array %q: %w", name, err)
	}
	return nil
}

// eachRow calls do with the rows of an array.
func eachRow(s *stream, ids ids, do func(id uint64, w []float32) error) error {
	var w []float32 // grows with the numbers read: an array without rows may claim any width
	for i := range s.shape[0] {
		id, err := ids.id(uint64(i))
		if err == nil {
			w, err = s.floats(w[:0], s.shape[1])
		}
		if err == nil {
			err = do(id, w)
		}
		if err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
	}
	return errors.Join(s.end(), ids.end())
}

// ids are the ids of n rows.
type ids struct{ *stream } // nil: row i has id i

func (a arrays) ids(name string, n int) (ids, error) {
	if _, has := a.shape(name + idsSuffix); !has {
		return ids{}, nil
	}
	s, err := a.open(name + idsSuffix)
	if err == nil && (len(s.shape) != 1 || s.shape[0] != n) {
		s.close()
		err = fmt.Errorf("array %q has shape %v, and %q has %d rows", name+idsSuffix, s.shape, name, n)
	}
	return ids{s}, err
}

// id reads the next id, that of row i.
func (d ids) id(i uint64) (uint64, error) {
	if d.stream == nil {
		return i, nil
	}
	return d.stream.id()
}

func (d ids) end() error {
	if d.stream == nil {
		return nil
	}
	return d.stream.end()
}

func (d ids) close() {
	if d.stream != nil {
		d.stream.close()
	}
}

// missing is the error for an array that does not exist, with the names that do.
func missing(name string, names []string) error {
	slices.Sort(names)
	more := ""
	if len(names) > 10 {
		names, more = names[:10], fmt.Sprintf(" and %d more", len(names)-10)
	}
	return fmt.Errorf("unknown array %q; want one of %q%s", name, names, more)
}
