package weights

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"

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
		for ; len(b) > 0; b = b[size:] {
			v, err := s.float(b[:size])
			if err != nil {
				return w, err
			}
			w = append(w, v)
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

// float decodes one number, with an error if no float32 is near.
func (s *stream) float(b []byte) (float32, error) {
	switch s.dtype {
	case safetensors.F32:
		return math.Float32frombits(binary.LittleEndian.Uint32(b)), nil
	case safetensors.F64:
		v := math.Float64frombits(binary.LittleEndian.Uint64(b))
		if math.IsInf(float64(float32(v)), 0) && !math.IsInf(v, 0) {
			return 0, fmt.Errorf("%g is more than a float32 can hold", v)
		}
		return float32(v), nil
	case safetensors.BF16:
		return math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16), nil
	case safetensors.F16:
		return half(binary.LittleEndian.Uint16(b)), nil
	}
	return 0, fmt.Errorf("numbers of type %s, where F32, F64, F16 or BF16 is wanted", s.dtype)
}

// half decodes a number of 16 bits: a sign, 5 bits of exponent, 10 of fraction (IEEE 754 binary16).
func half(b uint16) float32 {
	sign, exponent, fraction := uint32(b>>15), int(b>>10&31), uint32(b&1023)
	switch exponent {
	case 0:
		v := float32(math.Ldexp(float64(fraction), -24))
		return math.Float32frombits(math.Float32bits(v) | sign<<31)
	case 31:
		return math.Float32frombits(sign<<31 | 0xff<<23 | fraction<<13) // an infinity, or NaN
	}
	return math.Float32frombits(sign<<31 | uint32(exponent-15+127)<<23 | fraction<<13)
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
