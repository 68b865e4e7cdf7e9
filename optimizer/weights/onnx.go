package weights

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/gofleet/gofleet/internal/safetensors"
)

// onnxFile is the initializers of an ONNX model: of its graph, not of graphs within nodes.
type onnxFile struct {
	r       io.ReaderAt
	dir     string // the directory of files beside it
	tensors map[string]onnxTensor
}

// onnxTensor is a TensorProto, whose numbers are in one piece of this file or another.
type onnxTensor struct {
	name    string
	kind    uint64 // TensorProto.DataType
	dims    []int
	data    piece
	field   int               // that has the numbers
	beside  map[string]string // external_data
	outside bool              // the numbers are in the other file
}

// piece is a part of a file.
type piece struct{ at, end int64 }

// onnxTypes are the element types of weights and ids, by TensorProto.DataType, each with the field of its numbers if
// raw_data is not used.
var onnxTypes = map[uint64]struct {
	dtype safetensors.DType
	field int
}{1: {safetensors.F32, 4}, 6: {safetensors.I32, 5}, 7: {safetensors.I64, 7}, 10: {safetensors.F16, 5},
	11: {safetensors.F64, 10}, 12: {safetensors.U32, 11}, 13: {safetensors.U64, 11}, 16: {safetensors.BF16, 5}}

// Fields of a TensorProto, and its DataLocation EXTERNAL.
const (
	rawData  = 9
	external = 1
)

// mostText bounds the length of names in a file, and of lists of dimensions, in bytes.
const mostText = 4096

func openONNX(r io.ReaderAt, size int64, dir string) (streams, error) {
	f := onnxFile{r, dir, map[string]onnxTensor{}}
	graphs := 0
	err := f.fields(piece{0, size}, func(field int, _ uint64, p piece) error {
		if field != 7 { // of ModelProto: the graph
			return nil
		}
		graphs++
		return f.fields(p, func(field int, _ uint64, p piece) error {
			if field != 5 { // of GraphProto: an initializer
				return nil
			}
			t, err := f.tensor(p)
			if _, twice := f.tensors[t.name]; twice && err == nil {
				err = errors.New("two have this name")
			}
			if err != nil {
				return fmt.Errorf("initializer %q: %w", t.name, err)
			}
			f.tensors[t.name] = t
			return nil
		})
	})
	if err == nil && graphs != 1 {
		err = errors.New("an ONNX file has one graph")
	}
	if err != nil {
		return nil, fmt.Errorf("not an ONNX file, or truncated: %w", err)
	}
	return f, nil
}

// fields calls do with each field of the message in a piece of the file: with its number, and its value or, for a field
// with a length, its piece.
func (f onnxFile) fields(p piece, do func(field int, v uint64, in piece) error) error {
	var head [2 * binary.MaxVarintLen64]byte
	for p.at < p.end {
		n, err := f.r.ReadAt(head[:min(int64(len(head)), p.end-p.at)], p.at)
		if n == 0 {
			return ended(err)
		}
		tag, size := binary.Uvarint(head[:n])
		if size <= 0 || tag>>3 == 0 || tag>>3 > math.MaxInt32 {
			return fmt.Errorf("invalid field at byte %d", p.at)
		}
		next, v, in := p.at+int64(size), uint64(0), piece{}
		switch tag & 7 {
		case 1:
			next += 8
		case 5:
			next += 4
		case 0, 2:
			if v, n = binary.Uvarint(head[size:n]); n <= 0 || tag&7 == 2 && v > uint64(p.end) {
				return fmt.Errorf("the field at byte %d is cut", p.at)
			}
			if next += int64(n); tag&7 == 2 {
				in = piece{next, next + int64(v)}
				next = in.end
			}
		default:
			return fmt.Errorf("the field at byte %d is of no known kind", p.at)
		}
		if next > p.end {
			return fmt.Errorf("the field at byte %d is cut", p.at)
		}
		if err := do(int(tag>>3), v, in); err != nil {
			return err
		}
		p.at = next
	}
	return nil
}

// text reads a piece, up to a bound.
func (f onnxFile) text(p piece) (string, error) {
	if p.end-p.at > mostText {
		return "", fmt.Errorf("%d bytes, where %d are the most for a name or for dimensions", p.end-p.at, mostText)
	}
	b := make([]byte, p.end-p.at)
	if n, err := f.r.ReadAt(b, p.at); n < len(b) {
		return "", ended(err)
	}
	return string(b), nil
}

// tensor decodes the TensorProto in a piece.
func (f onnxFile) tensor(p piece) (t onnxTensor, err error) {
	t.beside = map[string]string{}
	err = f.fields(p, func(field int, v uint64, in piece) error {
		switch field {
		case 1: // dims
			dims, err := f.dims(v, in)
			t.dims = append(t.dims, dims...)
			return err
		case 2:
			t.kind = v
		case 3:
			return errors.New("it is a segment of a tensor")
		case 4, 5, 7, 10, 11, rawData:
			if in.at == 0 || t.field != 0 {
				return errors.New("its numbers are in several pieces: save the model again, as by onnx.save of Python")
			}
			t.field, t.data = field, in
		case 8:
			t.name, err = f.text(in)
			return err
		case 13: // external_data
			return f.fields(in, func(field int, _ uint64, in piece) error {
				text, err := f.text(in)
				if field == 1 {
					t.beside[""] = text
				} else if field == 2 {
					t.beside[t.beside[""]] = text
				}
				return err
			})
		case 14: // data_location
			t.outside = v == external
		}
		return nil
	})
	return t, err
}

// dims decodes dimensions: one, or packed ones.
func (f onnxFile) dims(v uint64, packed piece) (dims []int, err error) {
	text, all := "", []uint64{v}
	if packed.at > 0 {
		text, err = f.text(packed)
		all = nil
	}
	for b := []byte(text); len(b) > 0; {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, errors.New("its dimensions are cut")
		}
		all, b = append(all, v), b[n:]
	}
	for _, v := range all {
		if v > math.MaxInt {
			return nil, fmt.Errorf("dimension %d is below 0", int64(v))
		}
		dims = append(dims, int(v))
	}
	return dims, err
}

func (f onnxFile) names() []string { return slices.Collect(maps.Keys(f.tensors)) }

func (f onnxFile) shape(name string) ([]int, bool) {
	t, ok := f.tensors[name]
	return t.dims, ok
}

func (f onnxFile) open(name string) (*stream, error) {
	t, ok := f.tensors[name]
	if !ok {
		return nil, missing(name, f.names())
	}
	s, err := f.stream(t)
	if err != nil {
		return nil, fmt.Errorf("array %q: %w", name, err)
	}
	return s, nil
}

func (f onnxFile) stream(t onnxTensor) (*stream, error) {
	kind, ok := onnxTypes[t.kind]
	size := int64(kind.dtype.Size())
	nothing := func() error { return nil }
	switch {
	case !ok:
		return nil, fmt.Errorf("elements of TensorProto.DataType %d, where FLOAT, DOUBLE, FLOAT16, BFLOAT16 and "+
			"integers of 32 and 64 bits are read", t.kind)
	case t.outside:
		return f.outside(t, kind.dtype)
	case t.field == rawData, t.field == kind.field && (t.field == 4 || t.field == 10):
		length := t.data.end - t.data.at
		return newStream(kind.dtype, t.dims, io.NewSectionReader(f.r, t.data.at, length), length, nothing)
	case t.field != 0 && t.field != kind.field:
		return nil, fmt.Errorf("its numbers are in field %d, which is not that of %s", t.field, kind.dtype)
	}
	n, err := elements(t.dims)
	if err != nil {
		return nil, err
	}
	r := &varints{r: bufio.NewReader(io.NewSectionReader(f.r, t.data.at, t.data.end-t.data.at)), size: int(size)}
	return newStream(kind.dtype, t.dims, r, int64(n)*size, nothing)
}

// outside opens the part of another file with a tensor's numbers. The file must be in the model's directory or below.
func (f onnxFile) outside(t onnxTensor, dtype safetensors.DType) (*stream, error) {
	n, err := elements(t.dims)
	if err != nil {
		return nil, err
	}
	part, length := piece{}, int64(n)*int64(dtype.Size())
	for key, to := range map[string]*int64{"offset": &part.at, "length": &length} {
		if text, has := t.beside[key]; has {
			if *to, err = strconv.ParseInt(text, 10, 64); err != nil || *to < 0 {
				return nil, fmt.Errorf("the %s of its external data is %q", key, text)
			}
		}
	}
	file, err := openBeside(f.dir, t.beside["location"])
	if err != nil {
		return nil, fmt.Errorf("its external data: %w", err)
	}
	return newStream(dtype, t.dims, io.NewSectionReader(file, part.at, length), length, file.Close)
}

// openBeside opens a regular file in a directory or below, without following links out of it.
func openBeside(dir, name string) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	name = filepath.FromSlash(name)
	st, err := root.Stat(name)
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", name)
	}
	if err != nil {
		return nil, err
	}
	return root.Open(name)
}

// varints decodes packed varints to little-endian numbers of a size.
type varints struct {
	r    *bufio.Reader
	size int
	rest []byte
	room [8]byte
}

func (v *varints) Read(b []byte) (n int, err error) {
	for n < len(b) {
		if len(v.rest) == 0 {
			x, err := binary.ReadUvarint(v.r)
			if err != nil {
				return n, err
			}
			binary.LittleEndian.PutUint64(v.room[:], x)
			v.rest = v.room[:v.size]
		}
		taken := copy(b[n:], v.rest)
		v.rest, n = v.rest[taken:], n+taken
	}
	return n, nil
}
