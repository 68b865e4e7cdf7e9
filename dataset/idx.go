package dataset

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/gofleet/gofleet/internal/unpack"
)

// IDX is the contents of an IDX file of unsigned bytes: dimensions, the first of which is the number of samples, and
// values, row-major.
type IDX struct {
	Dims []int
	Data []byte
}

const (
	idxBytes   = 0x08
	idxMaxDims = 8
	// maxIDX bounds the values of a file: 1 GiB.
	maxIDX = 1 << 30
)

// ReadIDX reads an IDX file, plain or gzip. Its values must be unsigned bytes, as in MNIST and similar sets, and their
// number must match the dimensions.
func ReadIDX(r io.Reader) (*IDX, error) {
	f, err := unpack.Open(io.NopCloser(r))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errIDX, err)
	}
	dims, size, err := readIDXHeader(f)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, int64(size)+1)) // memory grows with the data, whatever the header says
	if err != nil {
		return nil, fmt.Errorf("%w of dimensions %v: %w", errIDX, dims, err)
	}
	if len(data) < size {
		return nil, fmt.Errorf("%w of dimensions %v: it ends after %d of %d values", errIDX, dims, len(data), size)
	}
	if len(data) > size {
		return nil, fmt.Errorf("%w of dimensions %v: it goes on after its %d values", errIDX, dims, size)
	}
	return &IDX{dims, data}, nil
}

// readIDXHeader reads two zeros, the type, the number of dimensions, and each dimension as a big-endian uint32.
func readIDXHeader(r io.Reader) (dims []int, size int, err error) {
	var magic [4]byte
	if _, err := io.ReadFull(r, magic[:]); err != nil {
		return nil, 0, fmt.Errorf("%w: no header: %w", errIDX, err)
	}
	if magic[0] != 0 || magic[1] != 0 {
		return nil, 0, fmt.Errorf("%w: it begins with % x, want 00 00 and a type", errIDX, magic)
	}
	if magic[2] != idxBytes {
		return nil, 0, fmt.Errorf("%w: its values are of type 0x%02x, want 0x08 (unsigned bytes)", errIDX, magic[2])
	}
	if n := magic[3]; n < 1 || n > idxMaxDims {
		return nil, 0, fmt.Errorf("%w: it has %d dimensions, want 1 to %d", errIDX, n, idxMaxDims)
	}
	raw := make([]byte, 4*int(magic[3]))
	if _, err := io.ReadFull(r, raw); err != nil {
		return nil, 0, fmt.Errorf("%w: its header is cut off: %w", errIDX, err)
	}
	size = 1
	for ; len(raw) > 0; raw = raw[4:] {
		d := binary.BigEndian.Uint32(raw)
		if d > maxIDX || size > maxIDX/max(int(d), 1) {
			return nil, 0, fmt.Errorf("%w of dimensions %v, %d…: more than %d values", errIDX, dims, d, maxIDX)
		}
		dims = append(dims, int(d))
		size *= int(d)
	}
	return dims, size, nil
}

// MNIST reads the four files of MNIST, or of a set of the same form such as Fashion-MNIST, from fsys:
// train-images-idx3-ubyte, train-labels-idx1-ubyte and the test set's two, whose names begin with t10k or test; each
// plain, or gzip with .gz at its end. Rows are
//
//	img   [N,1,28,28] float32   x/127.5 − 1: from −1 (paper) to 1 (ink)
//	label [N,1]       int64     0 to 9
func MNIST(fsys fs.FS) (train, test *Dataset, err error) {
	if train, err = mnistPart(fsys, "train"); err != nil {
		return nil, nil, err
	}
	test, err = mnistPart(fsys, "t10k", "test")
	return train, test, err
}

// mnistPart reads images and labels whose names begin with one of the prefixes.
func mnistPart(fsys fs.FS, prefixes ...string) (*Dataset, error) {
	images, err := readIDXFile(fsys, "-images-idx3-ubyte", prefixes)
	if err != nil {
		return nil, err
	}
	labels, err := readIDXFile(fsys, "-labels-idx1-ubyte", prefixes)
	if err != nil {
		return nil, err
	}
	return labelled(images, labels)
}

// readIDXFile reads the first file that exists.
func readIDXFile(fsys fs.FS, name string, prefixes []string) (*IDX, error) {
	for _, prefix := range prefixes {
		for _, end := range []string{".gz", ""} {
			f, err := openFile(context.Background(), fsys, prefix+name+end, "")
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			defer f.Close()
			x, err := ReadIDX(f)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", prefix+name+end, err)
			}
			return x, nil
		}
	}
	return nil, fmt.Errorf("dataset: %s%s, plain or .gz: %w", prefixes[0], name, fs.ErrNotExist)
}

// labelled returns a dataset of images and their classes.
func labelled(images, labels *IDX) (*Dataset, error) {
	if len(images.Dims) != 3 || images.Dims[1] < 1 || images.Dims[2] < 1 {
		return nil, fmt.Errorf("%w of images has dimensions %v, want [N, height, width]", errIDX, images.Dims)
	}
	if len(labels.Dims) != 1 || labels.Dims[0] != images.Dims[0] {
		return nil, fmt.Errorf("%w of labels has dimensions %v, want [%d], one for each image", errIDX, labels.Dims,
			images.Dims[0])
	}
	for i, label := range labels.Data {
		if label > 9 {
			return nil, fmt.Errorf("%w of labels: number %d is %d, want 0 to 9", errIDX, i, label)
		}
	}
	pixels := images.Dims[1] * images.Dims[2]
	fill := func(i int, row Row) error {
		img := row.Floats(0)
		for j, x := range images.Data[i*pixels:][:pixels] {
			img[j] = float32(x)/127.5 - 1
		}
		row.Ints(1)[0] = int64(labels.Data[i])
		return nil
	}
	return Generate(images.Dims[0], fill, Floats("img", 1, images.Dims[1], images.Dims[2]), Ints("label")), nil
}
