package weights

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/internal/safetensors"
)

// Array is a dense array: its numbers, row-major, and its shape.
type Array struct {
	Shape  []int
	Values []float32
}

// stream is an array of a file after its header was read, before its elements are read.
type stream struct {
	dtype safetensors.DType
	shape []int
	r     *bufio.Reader // nil when closed
	shut  func() error
}

// streamBytes is the size of a stream's buffer, which later streams reuse.
const streamBytes = 1 << 16

var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, streamBytes) }}

// newStream returns a stream of an array's elements, which must have bytes bytes.
func newStream(t safetensors.DType, shape []int, r io.Reader, bytes int64, close func() error) (*stream, error) {
	n, err := elements(shape)
	if err == nil && int64(n)*int64(t.Size()) != bytes {
		err = fmt.Errorf("it claims shape %v of %s, which are not the %d bytes that it has", shape, t, bytes)
	}
	if err != nil {
		close()
		return nil, err
	}
	buffered := readers.Get().(*bufio.Reader)
	buffered.Reset(r)
	return &stream{t, shape, buffered, close}, nil
}

// close ends the stream; calling it again does nothing.
func (s *stream) close() error {
	if s.r == nil {
		return nil
	}
	s.r.Reset(nil)
	readers.Put(s.r)
	s.r = nil
	return s.shut()
}

// floats appends the next n numbers to w. It allocates at most twice the memory of the numbers read.
func (s *stream) floats(w []float32, n int) ([]float32, error) {
	size := s.dtype.Size()
	for n > 0 {
		part := min(n, streamBytes/size)
		b, err := s.r.Peek(part * size)
		if err != nil {
			return w, ended(err)
		}
		at := len(w)
		w = append(w, make([]float32, part)...)
		if err := s.decode(w[at:], b); err != nil {
			return w, err
		}
		s.r.Discard(part * size) // Peek has read them
		n -= part
	}
	return w, nil
}

// end checks that there are no more bytes, and the checksum of a packed file.
func (s *stream) end() error {
	switch _, err := s.r.ReadByte(); err {
	case io.EOF:
		return nil
	case nil:
		return errors.New("it continues after its numbers")
	default:
		return err
	}
}

// decode sets w to the numbers of b, with an error if no float32 is near one.
func (s *stream) decode(w []float32, b []byte) error {
	switch s.dtype {
	case safetensors.F32:
		_, err := binary.Decode(b, binary.LittleEndian, w)
		return err
	case safetensors.BF16:
		kernels.FromBFloat16(w, b)
		return nil
	case safetensors.F16:
		kernels.FromFloat16(w, b)
		return nil
	case safetensors.F64:
		for i := range w {
			v := math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
			if w[i] = float32(v); math.IsInf(float64(w[i]), 0) && !math.IsInf(v, 0) {
				return fmt.Errorf("%g is more than a float32 can hold", v)
			}
		}
		return nil
	}
	return fmt.Errorf("numbers of type %s, where F32, F64, F16 or BF16 is wanted", s.dtype)
}

// id reads the next number as an id. Negative numbers keep their 64 bits, for ids that are hashes.
func (s *stream) id() (uint64, error) {
	var b [8]byte
	size := s.dtype.Size()
	if _, err := io.ReadFull(s.r, b[:size]); err != nil {
		return 0, ended(err)
	}
	switch s.dtype {
	case safetensors.U64, safetensors.I64:
		return binary.LittleEndian.Uint64(b[:]), nil
	case safetensors.U32:
		return uint64(binary.LittleEndian.Uint32(b[:])), nil
	case safetensors.I32:
		return uint64(int64(int32(binary.LittleEndian.Uint32(b[:])))), nil
	}
	return 0, fmt.Errorf("ids of type %s, where U64, I64, U32 or I32 is wanted", s.dtype)
}
