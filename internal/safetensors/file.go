package safetensors

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"slices"
)

// File is an opened file. Its methods may be called concurrently.
type File struct {
	r      io.ReaderAt
	closer io.Closer
	header header
	byName map[string]int
	swap   bool // whether this machine must reverse bytes
}

// Elements is the number of elements.
func (i Info) Elements() int { return int(i.Size / int64(i.DType.Size())) }

// Open reads and checks the header of a file of size bytes. Data are read on request.
func Open(r io.ReaderAt, size int64) (*File, error) {
	h, err := readHeader(r, size)
	if err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	f := &File{r: r, header: h, byName: make(map[string]int, len(h.infos)), swap: bigEndian}
	for i, t := range h.infos {
		f.byName[t.Name] = i
	}
	return f, nil
}

// Sized is an open file.
type Sized interface {
	io.ReaderAt
	io.Closer
	Stat() (fs.FileInfo, error)
}

// OpenFrom is Open for an open file, which Close, or an error, closes.
func OpenFrom(file Sized) (*File, error) {
	stat, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	f, err := Open(file, stat.Size())
	if err != nil {
		file.Close()
		return nil, err
	}
	f.closer = file
	return f, nil
}

// Close closes the file of OpenFrom.
func (f *File) Close() error {
	if f.closer == nil {
		return nil
	}
	return f.closer.Close()
}

// Tensors returns all tensors in the order of their data.
func (f *File) Tensors() []Info { return slices.Clone(f.header.infos) }

// Metadata returns a copy of the file's own key-value pairs.
func (f *File) Metadata() map[string]string { return maps.Clone(f.header.metadata) }

// Tensor returns the tensor of that name; ok is false if there is none.
func (f *File) Tensor(name string) (Info, bool) {
	i, ok := f.byName[name]
	if !ok {
		return Info{}, false
	}
	return f.header.infos[i], true
}

// Section returns the raw, little-endian data of a tensor as a stream.
func (f *File) Section(t Info) *io.SectionReader { return io.NewSectionReader(f.r, t.Offset, t.Size) }

// Read returns all elements of the tensor of that name, which must hold T, in new memory.
func Read[T Element](f *File, name string) ([]T, error) {
	t, err := typed[T](f, name)
	if err != nil {
		return nil, err
	}
	v := make([]T, t.Elements())
	return v, ReadAt(f, name, v, 0)
}

// ReadAt fills dst with the elements of a tensor from element first on, so that a large tensor can be read in pieces.
func ReadAt[T Element](f *File, name string, dst []T, first int) error {
	t, err := typed[T](f, name)
	if err != nil {
		return err
	}
	if first < 0 || first > t.Elements() || len(dst) > t.Elements()-first {
		return fmt.Errorf("safetensors: elements [%d, %d) of tensor %q, which has %d", first, first+len(dst), name,
			t.Elements())
	}
	b := bytesOf(dst)
	if err := readAt(f.r, b, t.Offset+int64(first)*int64(t.DType.Size())); err != nil {
		return fmt.Errorf("safetensors: reading tensor %q: %w", name, err)
	}
	if f.swap {
		swap(b, t.DType.Size())
	}
	return nil
}

// typed returns the tensor of that name if it holds T.
func typed[T Element](f *File, name string) (Info, error) {
	t, ok := f.Tensor(name)
	if !ok {
		return Info{}, fmt.Errorf("safetensors: unknown tensor %q; the file has %d others", name, len(f.header.infos))
	}
	if want := TypeOf[T](); t.DType != want {
		return Info{}, fmt.Errorf("safetensors: tensor %q holds %s, not %s", name, t.DType, want)
	}
	if t.Size > math.MaxInt {
		return Info{}, fmt.Errorf("safetensors: tensor %q has %d bytes, more than this machine can address", name,
			t.Size)
	}
	return t, nil
}
