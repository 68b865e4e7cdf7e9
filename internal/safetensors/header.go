package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// ErrFormat is the error for a file that is not a valid safetensors file.
var ErrFormat = errors.New("not a valid safetensors file")

// header is the checked table of a file.
type header struct {
	infos    []Info // in the order of their data
	metadata map[string]string
}

// readHeader reads and checks everything before the data. It allocates no more than a small multiple of the header,
// whose length is bounded by the file's.
func readHeader(r io.ReaderAt, size int64) (header, error) {
	text, err := headerText(r, size)
	if err != nil {
		return header{}, err
	}
	h, err := parseHeader(text)
	if err != nil {
		return header{}, err
	}
	return h, h.place(int64(8+len(text)), size)
}

func headerText(r io.ReaderAt, size int64) ([]byte, error) {
	var prefix [8]byte
	if size < 8 {
		return nil, fmt.Errorf("%w: %d bytes are too few for a header", ErrFormat, size)
	}
	if err := readAt(r, prefix[:], 0); err != nil {
		return nil, fmt.Errorf("reading the header's length: %w", err)
	}
	n := binary.LittleEndian.Uint64(prefix[:])
	if n > MaxHeader || n > uint64(size-8) {
		return nil, fmt.Errorf("%w: the header claims %d bytes, the file has %d and the limit is %d",
			ErrFormat, n, size-8, MaxHeader)
	}
	text := make([]byte, n)
	if err := readAt(r, text, 8); err != nil {
		return nil, fmt.Errorf("reading the header: %w", err)
	}
	return text, nil
}

// readAt is ReadAt without the io.EOF that may come with a full read.
func readAt(r io.ReaderAt, b []byte, at int64) error {
	n, err := r.ReadAt(b, at)
	switch {
	case n == len(b):
		return nil
	case err == io.EOF:
		return io.ErrUnexpectedEOF
	}
	return err
}

// parseHeader reads the object member by member, so that it finds duplicate names.
func parseHeader(text []byte) (header, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return header{}, fmt.Errorf("%w: the header must be a JSON object", ErrFormat)
	}
	var h header
	seen := map[string]bool{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return header{}, fmt.Errorf("%w: the header's JSON: %w", ErrFormat, err)
		}
		key, _ := name.(string) // the next Token or Decode reports a name that is not a string
		if seen[key] {
			return header{}, fmt.Errorf("%w: the header has %q twice", ErrFormat, key)
		}
		seen[key] = true
		if err := h.member(key, d); err != nil {
			return header{}, fmt.Errorf("%w: %q in the header: %w", ErrFormat, key, err)
		}
	}
	return h, checkEnd(d)
}

// checkEnd requires the closing brace and then spaces only.
func checkEnd(d *json.Decoder) error {
	if _, err := d.Token(); err != nil {
		return fmt.Errorf("%w: the header's JSON: %w", ErrFormat, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("%w: the header goes on after its JSON object", ErrFormat)
	}
	return nil
}

func (h *header) member(name string, d *json.Decoder) error {
	if name == metadataKey {
		return d.Decode(&h.metadata)
	}
	var e struct {
		DType   *DType
		Shape   *[]int
		Offsets *[]int64 `json:"data_offsets"`
	}
	if err := d.Decode(&e); err != nil {
		return err
	}
	if e.DType == nil || e.Shape == nil || e.Offsets == nil || len(*e.Offsets) != 2 {
		return errors.New("it needs dtype, shape and two data_offsets")
	}
	return h.add(Tensor{Name: name, DType: *e.DType, Shape: *e.Shape}, (*e.Offsets)[0], (*e.Offsets)[1])
}

// add checks a tensor by itself and appends it.
func (h *header) add(t Tensor, begin, end int64) error {
	n, err := t.Bytes()
	switch {
	case err != nil:
		return err
	case begin < 0 || end < begin:
		return fmt.Errorf("invalid data_offsets [%d %d]", begin, end)
	case end-begin != n:
		return fmt.Errorf("data_offsets [%d %d] have %d bytes, %s %v needs %d", begin, end, end-begin, t.DType, t.Shape,
			n)
	}
	h.infos = append(h.infos, Info{Tensor: t, Offset: begin, Size: n})
	return nil
}

// place checks the tensors against each other and the file, and makes offsets relative to the file's beginning.
func (h *header) place(data, size int64) error {
	slices.SortStableFunc(h.infos, func(a, b Info) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Size, b.Size))
	})
	end := int64(0)
	for i := range h.infos {
		t := &h.infos[i]
		if t.Offset != end {
			return fmt.Errorf("%w: data of tensor %q begin at %d, but those before it end at %d", ErrFormat, t.Name,
				t.Offset, end)
		}
		end += t.Size // no overflow: the header contained offset + size as the end
		t.Offset += data
	}
	if end != size-data {
		return fmt.Errorf("%w: the header describes %d bytes of data, the file has %d", ErrFormat, end, size-data)
	}
	return nil
}

// Info is a tensor of a file and the place of its data.
type Info struct {
	Tensor
	// Offset and Size are bytes, the offset from the beginning of the file.
	Offset, Size int64
}
