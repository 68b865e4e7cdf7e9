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

// bytesOf returns f's bytes in little-endian order: f's own memory if that is the machine's order.
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

// floats reads b as float32s, without copying if order and alignment allow. They do if b is in a transport's buffer,
// which begins at a multiple of 8, as every section does; otherwise (a frame inside another message, a test) it is a
// copy. In either case the floats are valid as long as b, and must not be written to: a repeated push is the same
// bytes.
func floats(b []byte) ([]float32, error) {
	if len(b)%4 != 0 {
		return nil, fmt.Errorf("wire: %d bytes are not a whole number of floats: %w", len(b), ErrFrame)
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
