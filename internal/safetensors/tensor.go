package safetensors

import (
	"errors"
	"fmt"
	"math/bits"
	"unicode/utf8"
)

// DType is an element type by its name in the file.
type DType string

// The element types that files may hold. Those without a Go type are read and written as raw bytes.
const (
	F64    DType = "F64"
	F32    DType = "F32"
	F16    DType = "F16"
	BF16   DType = "BF16"
	F8E4M3 DType = "F8_E4M3"
	F8E5M2 DType = "F8_E5M2"
	I64    DType = "I64"
	I32    DType = "I32"
	I16    DType = "I16"
	I8     DType = "I8"
	U64    DType = "U64"
	U32    DType = "U32"
	U16    DType = "U16"
	U8     DType = "U8"
	Bool   DType = "BOOL"
)

// Size is the number of bytes of an element, 0 if the type is unknown.
func (d DType) Size() int {
	switch d {
	case F64, I64, U64:
		return 8
	case F32, I32, U32:
		return 4
	case F16, BF16, I16, U16:
		return 2
	case F8E4M3, F8E5M2, I8, U8, Bool:
		return 1
	}
	return 0
}

// Tensor describes one array. An empty Shape is a scalar.
type Tensor struct {
	Name  string
	DType DType
	Shape []int
}

// metadataKey is the only name in the header that is not a tensor's.
const metadataKey = "__metadata__"

// Bytes returns the size of the data in bytes, or what is wrong with the description.
func (t Tensor) Bytes() (int64, error) {
	size := uint64(t.DType.Size())
	if size == 0 {
		return 0, fmt.Errorf("dtype %q is unknown", t.DType)
	}
	n := size
	for _, d := range t.Shape {
		if d < 0 {
			return 0, fmt.Errorf("shape %v has a negative dimension", t.Shape)
		}
		hi, lo := bits.Mul64(n, uint64(d))
		if hi != 0 || int64(lo) < 0 {
			return 0, fmt.Errorf("shape %v of %s is too large", t.Shape, t.DType)
		}
		n = lo
	}
	return int64(n), nil
}

// CheckName returns why no tensor can have that name, or nil.
func CheckName(name string) error {
	switch {
	case name == metadataKey:
		return fmt.Errorf("the name %s is taken by the format", metadataKey)
	case !utf8.ValidString(name):
		return errors.New("the name is not valid UTF-8")
	}
	return nil
}
