package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// MaxHeader is the largest header of a file, in bytes: the limit of other implementations.
const MaxHeader = 100_000_000

// Writer streams one file. It does not buffer: for many small pieces w should be a bufio.Writer. After an error every
// call returns that error.
type Writer struct {
	w       io.Writer
	tensors []Tensor
	places  []int64 // of the tensors' data
	at      int     // tensors[at] is being written
	left    int64   // bytes that it still needs
	later   map[int]*later
	swap    bool // whether this machine must reverse bytes
	scratch []byte
	err     error
}

// Ahead is a file to which data can be written before their turn: WriteAhead writes bytes at their place, and Pass
// skips the next n bytes.
type Ahead interface {
	WriteAhead(b []byte, at int64) error
	Pass(n int64) error
}

// later is the data of a tensor that were given before its turn.
type later struct {
	buffer []byte
	sent   int64 // bytes before the buffer, which were written ahead
}

// laterBytes is the number of bytes of a tensor that are kept before they are written ahead.
const laterBytes = 1 << 17

// NewWriter checks the declarations and writes the header. metadata may be nil.
func NewWriter(w io.Writer, tensors []Tensor, metadata map[string]string) (*Writer, error) {
	header, err := encodeHeader(tensors, metadata, MaxHeader)
	if err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	if _, err := w.Write(header); err != nil {
		return nil, fmt.Errorf("safetensors: writing the header: %w", err)
	}
	out := &Writer{w: w, tensors: slices.Clone(tensors), at: -1, swap: bigEndian, later: map[int]*later{}}
	for at := int64(len(header)); len(out.places) < len(tensors); {
		n, _ := tensors[len(out.places)].Bytes()
		out.places, at = append(out.places, at), at+n
	}
	out.advance()
	return out, nil
}

// Put writes the next elements of the tensor of that name. Tensors come in the order of their declaration; the pieces
// of one tensor add up to its shape. Put does not change values.
func Put[T Element](w *Writer, name string, values []T) error {
	if err := w.expect(name, TypeOf[T]()); err != nil {
		return err
	}
	return w.write(name, bytesOf(values), w.swap)
}

// Later puts the next elements of a tensor whose turn is yet to come, so that columns of a table can be written side by
// side. If the file is an [Ahead], only a few of them stay in memory. Elements that are still missing at the tensor's
// turn are written by Put.
func Later[T Element](w *Writer, name string, values []T) error {
	i := slices.IndexFunc(w.tensors, func(t Tensor) bool { return t.Name == name })
	switch {
	case w.err != nil:
		return w.err
	case i <= w.at || w.tensors[i].DType != TypeOf[T]():
		return w.fail(fmt.Errorf("tensor %q of %s is not one whose turn is yet to come", name, TypeOf[T]()))
	}
	l := w.later[i]
	if l == nil {
		l = &later{buffer: make([]byte, 0, laterBytes)}
		w.later[i] = l
	}
	for data := bytesOf(values); len(data) > 0; {
		n := min(len(data), laterBytes/2)
		l.buffer = append(l.buffer, data[:n]...)
		if data = data[n:]; w.swap {
			swap(l.buffer[len(l.buffer)-n:], TypeOf[T]().Size())
		}
		if f, can := w.w.(Ahead); can && len(l.buffer) >= laterBytes/2 {
			if err := f.WriteAhead(l.buffer, w.places[i]+l.sent); err != nil {
				return w.fail(fmt.Errorf("writing tensor %q: %w", name, err))
			}
			l.sent, l.buffer = l.sent+int64(len(l.buffer)), l.buffer[:0]
		}
	}
	return nil
}

// Raw writes the next bytes of the tensor of that name, whatever its dtype, as they are in the file: little-endian.
func (w *Writer) Raw(name string, data []byte) error {
	if err := w.expect(name, ""); err != nil {
		return err
	}
	return w.write(name, data, false)
}

// Close returns an error if data are missing. It does not close the underlying writer.
func (w *Writer) Close() error {
	switch {
	case w.err != nil:
		return w.err
	case w.at == len(w.tensors):
		return nil
	}
	t := w.tensors[w.at]
	return w.fail(fmt.Errorf("tensor %q of %s %v lacks %d bytes, and %d tensors come after it",
		t.Name, t.DType, t.Shape, w.left, len(w.tensors)-w.at-1))
}

// advance moves on to the next tensor that has data.
func (w *Writer) advance() {
	for w.at++; w.at < len(w.tensors); w.at++ {
		w.left, _ = w.tensors[w.at].Bytes() // checked by NewWriter
		if l := w.later[w.at]; l != nil {
			w.catchUp(w.tensors[w.at].Name, l)
		}
		if w.left > 0 || w.err != nil {
			return
		}
	}
}

// catchUp writes the data of a tensor that were given before its turn, which is now.
func (w *Writer) catchUp(name string, l *later) {
	var err error
	w.left -= l.sent + int64(len(l.buffer))
	switch {
	case w.left < 0:
		err = fmt.Errorf("%d bytes are too many", -w.left)
	case l.sent > 0:
		err = w.w.(Ahead).Pass(l.sent)
	}
	if err == nil {
		_, err = w.w.Write(l.buffer)
	}
	if err != nil {
		_ = w.fail(fmt.Errorf("writing tensor %q: %w", name, err))
	}
	delete(w.later, w.at)
}

// expect returns an error for data of another tensor than the next one. Without a dtype any is accepted.
func (w *Writer) expect(name string, d DType) error {
	if w.err != nil {
		return w.err
	}
	i := slices.IndexFunc(w.tensors, func(t Tensor) bool { return t.Name == name })
	switch {
	case i < 0:
		return w.fail(fmt.Errorf("tensor %q was not declared", name))
	case d != "" && w.tensors[i].DType != d:
		return w.fail(fmt.Errorf("tensor %q holds %s, not %s", name, w.tensors[i].DType, d))
	case i > w.at && w.at < len(w.tensors):
		return w.fail(fmt.Errorf("data of tensor %q came while %q lacks %d bytes", name, w.tensors[w.at].Name, w.left))
	}
	return nil
}

func (w *Writer) write(name string, data []byte, swapped bool) error {
	if len(data) == 0 {
		return nil
	}
	if w.at == len(w.tensors) || w.tensors[w.at].Name != name || int64(len(data)) > w.left {
		return w.fail(fmt.Errorf("tensor %q is complete, %d bytes are too many", name, len(data)))
	}
	if err := w.send(data, swapped); err != nil {
		return w.fail(fmt.Errorf("writing tensor %q: %w", name, err))
	}
	if w.left -= int64(len(data)); w.left == 0 {
		w.advance()
	}
	return w.err
}

func (w *Writer) send(data []byte, swapped bool) error {
	if !swapped {
		_, err := w.w.Write(data)
		return err
	}
	size := w.tensors[w.at].DType.Size()
	for chunk := range slices.Chunk(data, 1<<16) {
		w.scratch = append(w.scratch[:0], chunk...)
		swap(w.scratch, size)
		if _, err := w.w.Write(w.scratch); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) fail(err error) error {
	w.err = fmt.Errorf("safetensors: %w", err)
	return w.err
}

// entry is a tensor in the header.
type entry struct {
	DType   DType    `json:"dtype"`
	Shape   []int    `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

// encodeHeader returns the length, the JSON object, at most limit bytes of it, and the padding.
func encodeHeader(tensors []Tensor, metadata map[string]string, limit int) ([]byte, error) {
	table, err := layout(tensors)
	if err != nil {
		return nil, err
	}
	b := bytes.NewBuffer(make([]byte, 8))
	members := []string{}
	if len(metadata) > 0 {
		members = append(members, member(metadataKey, metadata))
	}
	for i, e := range table {
		members = append(members, member(tensors[i].Name, e))
	}
	b.WriteString("{" + strings.Join(members, ",") + "}")
	for b.Len()%8 != 0 {
		b.WriteByte(' ')
	}
	if n := b.Len() - 8; n > limit {
		return nil, fmt.Errorf("the header of %d tensors has %d bytes, over %d", len(tensors), n, limit)
	}
	binary.LittleEndian.PutUint64(b.Bytes(), uint64(b.Len()-8))
	return b.Bytes(), nil
}

// member returns one "name":value of a JSON object. Entries and metadata always marshal.
func member(name string, value any) string {
	n, _ := json.Marshal(name)
	v, _ := json.Marshal(value)
	return string(n) + ":" + string(v)
}

// layout gives each tensor its place, one after another.
func layout(tensors []Tensor) ([]entry, error) {
	table := make([]entry, len(tensors))
	seen := make(map[string]bool, len(tensors))
	end := int64(0)
	for i, t := range tensors {
		n, err := t.Bytes()
		if err = errors.Join(err, CheckName(t.Name)); err != nil {
			return nil, fmt.Errorf("tensor %q: %w", t.Name, err)
		}
		if seen[t.Name] {
			return nil, fmt.Errorf("two tensors are called %q", t.Name)
		}
		seen[t.Name] = true
		if end+n < end {
			return nil, fmt.Errorf("tensor %q: the file would be too large", t.Name)
		}
		table[i] = entry{DType: t.DType, Shape: append([]int{}, t.Shape...), Offsets: [2]int64{end, end + n}}
		end += n
	}
	return table, nil
}
