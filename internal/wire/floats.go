package wire

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"
)

var littleEndian = func() bool {
	x := uint16(1)
	return *(*byte)(unsafe.Pointer(&x)) == 1
}()

// bytesOf is f's bytes in little-endian order: f itself where the machine's order is that.
func bytesOf(f []float32) []byte {
	if littleEndian {
		return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(f))), 4*len(f))
	}
	b := make([]byte, 0, 4*len(f))
	for _, v := range f {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// floats reads b as float32s, without copying if order and alignment allow. They do where b comes from a transport's
// buffer, which begins at a multiple of 8, as every section does; elsewhere (a frame inside another message, a test) it
// is a copy. Either way the floats live as long as b does, and are read alone: a push that is repeated is the
// same bytes.
func floats(b []byte) ([]float32, error) {
	if len(b)%4 != 0 {
		return nil, fmt.Errorf("wire: %d bytes are no whole number of floats: %w", len(b), ErrFrame)
	}
	if len(b) == 0 {
		return nil, nil
	}
	p := unsafe.Pointer(unsafe.SliceData(b))
	if littleEndian && uintptr(p)%unsafe.Alignof(float32(0)) == 0 {
		return unsafe.Slice((*float32)(p), len(b)/4), nil
	}
	f := make([]float32, len(b)/4)
	for i := range f {
		f[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return f, nil
}
