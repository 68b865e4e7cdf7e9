package weights

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/gofleet/gofleet/internal/safetensors"
)

// npyMagic is the beginning of numpy's files of one array; the version follows.
const npyMagic = "\x93NUMPY"

// maxHeader bounds the text with an array's type and shape, in bytes.
const maxHeader = 1 << 16

// npyTypes are the element types that can be read, by numpy's names.
var npyTypes = map[string]safetensors.DType{
	"<f4": safetensors.F32, "<f8": safetensors.F64,
	"<i4": safetensors.I32, "<i8": safetensors.I64, "<u4": safetensors.U32, "<u8": safetensors.U64,
}

// WriteNPY writes the rows as one numpy array, float32 [rows dim], by ascending id: row i belongs to id i. Gaps in the
// ids are refused; use [WriteNPZ], which also writes ids. Rows are kept in a temporary file until all have been read
// (see os.TempDir).
func WriteNPY(w io.Writer, rows iter.Seq2[Row, error]) error {
	return spooled("WriteNPY", rows, func(s *spool) error { return writeNPY(w, s) })
}

func writeNPY(w io.Writer, s *spool) error {
	for i := range s.ids {
		if s.id(i) != uint64(i) {
			return fmt.Errorf("id %d comes, and %d does not: an array is of all ids from 0 on; WriteNPZ takes others",
				s.id(i), i)
		}
	}
	if _, err := w.Write(npyHeader("<f4", len(s.ids), s.dim)); err != nil {
		return err
	}
	return s.writeRows(w)
}

// npyHeader returns the bytes before an array's numbers, exactly as numpy writes them.
func npyHeader(descr string, shape ...int) []byte {
	dims := make([]string, len(shape))
	for i, d := range shape {
		dims[i] = strconv.Itoa(d)
	}
	tuple := strings.Join(dims, ", ")
	if len(dims) == 1 {
		tuple += ","
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, tuple)
	for (len(npyMagic)+4+len(text)+1)%64 != 0 {
		text += " "
	}
	b := append([]byte(npyMagic), 1, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(text)+1))
	return append(append(b, text...), '\n')
}

// readNPY reads an array's header; its numbers follow, row-major.
func readNPY(r io.Reader) (safetensors.DType, []int, error) {
	text, err := npyText(r)
	if err != nil {
		return "", nil, err
	}
	h, err := parseNPY(text)
	if err != nil {
		return "", nil, fmt.Errorf("the array's header %.200q: %w", text, err)
	}
	t, known := npyTypes[h.descr]
	switch {
	case !known:
		return t, nil, fmt.Errorf("an array of type %q: save it with numpy as float32 (or <f8, <i4, <i8, <u4, <u8)",
			h.descr)
	case h.fortran:
		return t, nil, errors.New("an array in Fortran's order, column by column: save numpy.ascontiguousarray of it")
	}
	return t, h.shape, nil
}

// npyText reads the header's text.
func npyText(r io.Reader) (string, error) {
	var b [12]byte
	n := 10
	if _, err := io.ReadFull(r, b[:n]); err != nil || string(b[:6]) != npyMagic {
		return "", errors.Join(errors.New("no array of numpy: it does not begin with \\x93NUMPY"), ended(err))
	}
	length := uint32(binary.LittleEndian.Uint16(b[8:]))
	if b[6] < 1 || b[6] > 3 {
		return "", fmt.Errorf("an array of numpy's format %d.%d: 1, 2 and 3 are read", b[6], b[7])
	}
	if b[6] > 1 {
		if _, err := io.ReadFull(r, b[10:]); err != nil {
			return "", fmt.Errorf("the array's header: %w", ended(err))
		}
		length = binary.LittleEndian.Uint32(b[8:])
	}
	if length > maxHeader {
		return "", fmt.Errorf("the array's header claims %d bytes, more than %d", length, maxHeader)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return "", fmt.Errorf("the array's header: %w", ended(err))
	}
	return string(text), nil
}

// ended turns the end of a file inside an array into an error.
func ended(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// npy is the content of a header.
type npy struct {
	descr   string
	fortran bool
	shape   []int
}

// parseNPY parses a header, which is a dictionary of Python with three keys.
func parseNPY(text string) (h npy, err error) {
	p := literal{strings.TrimSpace(text)}
	seen := map[string]bool{}
	if !p.accept("{") {
		return h, errors.New("no dictionary")
	}
	for !p.accept("}") {
		key, ok := p.str()
		if !ok || !p.accept(":") || seen[key] {
			return h, fmt.Errorf("a key that comes once, and a colon, are wanted before %.40q", p.rest)
		}
		seen[key] = true
		switch key {
		case "descr":
			h.descr, ok = p.str()
		case "fortran_order":
			h.fortran = p.accept("True")
			ok = h.fortran || p.accept("False")
		case "shape":
			h.shape, ok = p.tuple()
		default:
			ok = false
		}
		if !ok {
			return h, fmt.Errorf("%s is not what arrays of numbers have: %.40q", key, p.rest)
		}
		if !p.accept(",") && !strings.HasPrefix(p.rest, "}") {
			return h, fmt.Errorf("no comma before %.40q", p.rest)
		}
	}
	if len(seen) != 3 || p.rest != "" {
		return h, fmt.Errorf("want descr, fortran_order and shape, and nothing after them")
	}
	return h, nil
}

// literal is the rest of a Python text that is being parsed.
type literal struct{ rest string }

// accept skips a token if it is the next.
func (p *literal) accept(token string) bool {
	rest, ok := strings.CutPrefix(p.rest, token)
	if ok {
		p.rest = strings.TrimLeft(rest, " ")
	}
	return ok
}

func (p *literal) str() (string, bool) {
	for _, quote := range []string{"'", `"`} {
		if rest, ok := strings.CutPrefix(p.rest, quote); ok {
			s, rest, ok := strings.Cut(rest, quote)
			p.rest = strings.TrimLeft(rest, " ")
			return s, ok
		}
	}
	return "", false
}

// tuple parses numbers separated by commas; a single number must have a comma after it.
func (p *literal) tuple() (shape []int, ok bool) {
	shape = []int{}
	if !p.accept("(") {
		return nil, false
	}
	for !p.accept(")") {
		end := strings.IndexFunc(p.rest, func(r rune) bool { return r < '0' || r > '9' })
		if end < 0 || len(shape) == 32 {
			return nil, false
		}
		d, err := strconv.Atoi(p.rest[:end])
		if err != nil {
			return nil, false
		}
		shape = append(shape, d)
		p.rest = strings.TrimLeft(strings.TrimPrefix(p.rest[end:], "L"), " ") // Python 2 wrote 3L
		if !p.accept(",") && !strings.HasPrefix(p.rest, ")") {
			return nil, false
		}
	}
	return shape, true
}

// elements returns the number of an array's elements, with an error if its bytes can't be counted.
func elements(shape []int) (int, error) {
	n := uint64(1)
	for _, d := range shape {
		hi, lo := bits.Mul64(n, uint64(d))
		if hi != 0 || lo > 1<<59 {
			return 0, fmt.Errorf("shape %v is too large", shape)
		}
		n = lo
	}
	if slices.Contains(shape, 0) {
		return 0, nil
	}
	return int(n), nil
}

// openNPY opens an array of size bytes for reading.
func openNPY(r io.Reader, size int64, close func() error) (*stream, error) {
	count := &counted{r: r}
	t, shape, err := readNPY(count)
	if err != nil {
		return nil, errors.Join(err, close())
	}
	return newStream(t, shape, r, size-count.n, close)
}

// counted counts the bytes that are read.
type counted struct {
	r io.Reader
	n int64
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

// npyFile is a file with one array.
type npyFile struct {
	file io.ReaderAt
	size int64
	name string
}

func (f npyFile) names() []string { return []string{f.name} }

func (f npyFile) shape(name string) ([]int, bool) {
	if name != f.name {
		return nil, false
	}
	s, err := f.open(name)
	if err != nil {
		return nil, true // the error comes when it is read
	}
	return s.shape, true
}

func (f npyFile) open(name string) (*stream, error) {
	if name != f.name {
		return nil, missing(name, f.names())
	}
	return openNPY(io.NewSectionReader(f.file, 0, f.size), f.size, func() error { return nil })
}
