package collective

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"unsafe"
)

// Element is the type of elements that can be reduced. Sums of int64 are exact and wrap.
type Element interface{ float32 | float64 | int64 }

// element is the code of an Element in messages.
type element uint8

const (
	elementByte element = iota
	elementFloat32
	elementFloat64
	elementInt64
)

var elementNames = map[element]string{elementByte: "bytes", elementFloat32: "float32", elementFloat64: "float64",
	elementInt64: "int64"}

func (e element) String() string { return cmp.Or(elementNames[e], fmt.Sprintf("element %d", uint8(e))) }

func elementOf[E Element]() element {
	var zero E
	switch any(zero).(type) {
	case float32:
		return elementFloat32
	case float64:
		return elementFloat64
	}
	return elementInt64
}

func sizeOf[E Element]() int {
	var zero E
	return int(unsafe.Sizeof(zero))
}

// nativeOrder reports whether the machine's byte order is that of messages, little-endian.
var nativeOrder = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// Plain is the type of elements that messages can carry.
type Plain interface {
	Element | uint64
}

// Bytes returns x as messages carry it, little-endian: the memory of x itself if that is the machine's order, else a
// copy.
func Bytes[E Plain](x []E) []byte {
	size := int(unsafe.Sizeof(*new(E)))
	b := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*size)
	if nativeOrder {
		return b
	}
	return swapped(b, size)
}

// Elements is the inverse of Bytes. It copies only if byte order or alignment require it. len(b) must be a multiple of
// the element's size.
func Elements[E Plain](b []byte) []E {
	size := int(unsafe.Sizeof(*new(E)))
	n := len(b) / size
	if n == 0 {
		return nil
	}
	p := unsafe.Pointer(unsafe.SliceData(b))
	if nativeOrder && uintptr(p)%unsafe.Alignof(*new(E)) == 0 {
		return unsafe.Slice((*E)(p), n)
	}
	if !nativeOrder {
		b = swapped(b, size)
	}
	x := make([]E, n)
	copy(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(b)), b)
	return x
}

// swapped returns a copy of b with the bytes of each element in the opposite order.
func swapped(b []byte, size int) []byte {
	out := make([]byte, len(b))
	for i := range b {
		out[i] = b[i-i%size+size-1-i%size]
	}
	return out
}
